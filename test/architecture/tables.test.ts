import { expect, it } from 'vitest'
import { sourceFiles } from './source.ts'

/**
 * Where a `Map` or a `Set` is made empty, to be filled later, and why clients cannot make it grow without end. What
 * remembers something of what clients sent, once they have been answered, is a table of
 * `shared/platform/cache/bounded-cache.ts` instead.
 */
const reasons: Readonly<Record<string, string>> = {
  // Gone with the call that made them, and no larger than what the call was given.
  'auth-server/principals/principal-reader.ts': 'one call',
  'auth-server/api-keys/key-use.ts': 'one batch',
  'auth-server/wiring/metrics.ts': 'ids of services, 1,000 of them',
  'shared/platform/process/folder-lock.ts': 'one call',
  'shared/platform/concurrency/fair-queue.ts': 'under way, and counted',
  'shared/platform/concurrency/gather.ts': 'one batch, and batches under way',
  'deal-server/http/styles/command-batches.ts': 'one batch',
  'shared/platform/http/content/form-body.ts': 'one body',
  'console/frame/console.tsx': 'one form',
  'shared/platform/http/content/multipart-body.ts': 'one body',
  'console/frame/reader.ts': 'one page',
  'console/dashboard/value-over-time.tsx': 'one page',
  'shared/platform/http/content/query-parameters.ts': 'one query',
  'shared/platform/http/server/routes.ts': 'the routes',
  'shared/platform/metrics/metrics.ts': 'the metrics, and one report of them',
  'shared/platform/workers/merge-metrics.ts': 'one report',
  'shared/platform/workers/supervisor.ts': 'workers, and connections that no worker has taken yet',
  'shared/platform/openapi/document.ts': 'one document',
  'shared/platform/openapi/problem-responses.ts': 'one document',
  'shared/protocol/authentication/signed-request/canonical-query.ts': 'one request',
  'shared/protocol/authentication/digest/digest-credential.ts': 'one header',
  'verify/src/keys/key-store.ts': 'the published keys',
  // What is under way: requests that wait for an answer are bounded by the server.
  'verify/src/keys/pending-key-lookups.ts': 'under way, and counted',
  'verify/src/auth-client/refuse-while-frozen.ts': 'under way',
  'deal-server/files/columns.ts': 'the header of one file, 100 columns',
  'shared/platform/concurrency/keyed-queue.ts': 'under way',
  'shared/platform/http/user-limits.ts': 'under way, and counted',
  'shared/platform/embedded/embedded.ts': 'names of jobs',
  'shared/platform/embedded/prepared-statements.ts': '500 statements',
  'shared/platform/postgres/postgres.ts': 'open connections',
  'shared/platform/concurrency/permits.ts': 'under way',
  'shared/platform/concurrency/share-calls.ts': 'under way',
  'shared/platform/postgres/postgres-servers.ts': 'the servers in a URL',
  'shared/platform/postgres/postgres-session-pool.ts': 'under way',
  'shared/platform/postgres/postgres-session.ts': 'under way',
  'shared/platform/postgres/write-gate.ts': 'under way',
  'shared/platform/http/server/drain.ts': 'open connections',
  'shared/platform/http/stream.ts': 'open streams',
  'auth-server/principals/feed-reader.ts': 'open streams',
  'deal-server/events/event-reader.ts': 'open streams',
  'deal-server/webhooks/dispatcher.ts': 'webhooks, 100 of them',
  'deal-server/webhooks/blocked-deals.ts': 'deals that wait, 1,000 and a page, and those that changed',
  'deal-server/webhooks/retries.ts': 'requests under way',
  'deal-server/webhooks/sender.ts': 'one page, and requests under way',
  'shared/server/login-throttle/count-attempts.ts': 'under way, and counted',
  'shared/server/login-throttle/flood-filter.ts': 'refusals of the last minute, 2,000 of them',
  'shared/platform/crypto/argon2-threads.ts': 'as many as permits',
  'auth-server/http/internal/nonces.ts': 'of deal servers, and counted',
  // Named by the servers themselves.
  'shared/server/html/assets.ts': 'files of ours',
  'auth-server/principals/principal-publisher.ts': 'changed users whose records were not published yet',
  'verify/src/principals/principal-feed.ts': "users of the last minute's announcements",
  'shared/platform/cache/attempt-counts.ts': 'attempts in flight, as many as the limit',
  'shared/platform/cache/channel-listeners.ts': 'channels',
  'shared/platform/database/housekeeping.ts': 'jobs',
  'shared/platform/metrics/pair-counts.ts': 'names and codes of the server, such as schemes and codes of problems',
  'shared/protocol/authentication/find-credentials.ts': 'schemes',
}

it('says of each Map and Set that is filled at run time what bounds it', () => {
  const servers = sourceFiles().filter(({ path }) => /^(auth-server|deal-server|shared|verify)\/(?!ops\/)/.test(path))
  const filled = servers.filter(({ code }) => /\bnew (?:Map|Set)(?:<[^()]*>)?\(\)/.test(code)).map(({ path }) => path)
  expect(filled.filter((path) => !(path in reasons))).toEqual([])
})
