import { expect, it } from 'vitest'
import { sourceFiles } from './source.ts'

/**
 * Where a `Map` or a `Set` is made empty, to be filled later, and why clients cannot make it grow without end. What remembers something
 * of what clients sent, once they have been answered, is a table of `shared/bounded-cache.ts` instead.
 */
const reasons: Readonly<Record<string, string>> = {
  // Gone with the call that made them, and no larger than what the call was given.
  'auth-server/users/rights.ts': 'one call',
  'shared/database/data-lock.ts': 'one call',
  'shared/gather.ts': 'one batch',
  'shared/http/form-body.ts': 'one body',
  'shared/http/routes.ts': 'the routes',
  'shared/metrics/metrics.ts': 'the metrics, and one report of them',
  'shared/openapi/document.ts': 'one document',
  'shared/openapi/problem-answers.ts': 'one document',
  'shared/schemes/canonical-query.ts': 'one request',
  'shared/schemes/digest-credential.ts': 'one header',
  'deal-server/access/key-store.ts': 'the published keys',
  // What is under way: requests that wait for an answer are bounded by the server.
  'deal-server/access/held-sessions.ts': 'under way',
  'deal-server/access/key-questions.ts': 'under way, and counted',
  'deal-server/access/principal-records.ts': 'under way',
  'deal-server/access/refuse-while-frozen.ts': 'under way',
  'deal-server/http/keyed-queue.ts': 'under way',
  'shared/database/embedded.ts': 'names of jobs',
  'shared/database/postgres.ts': 'open connections',
  'shared/database/postgres-session-pool.ts': 'under way',
  'shared/database/postgres-session.ts': 'under way',
  'shared/http/drain.ts': 'open connections',
  'shared/http/stream.ts': 'open streams',
  'deal-server/events/event-reader.ts': 'open streams',
  'deal-server/events/stream-limits.ts': 'callers with open streams',
  'shared/limits/count-guesses.ts': 'under way, and counted',
  'shared/limits/flood-filter.ts': 'refusals of the last minute, 2,000 of them',
  'shared/passwords/hashing-permits.ts': 'under way, and counted',
  'auth-server/http/internal-nonces.ts': 'of deal servers, and counted',
  'shared/principals/held-credentials.ts': 'under way',
  'shared/schemes/key-signed-password.ts': 'under way',
  // Named by the servers themselves.
  'shared/pages/assets.ts': 'files of ours',
  'auth-server/users/principal-publisher.ts': 'changed users whose records were not published yet',
  'deal-server/access/principal-feed.ts': "users of the last minute's announcements",
  'shared/cache/attempt-counts.ts': 'attempts in flight, as many as the limit',
  'shared/cache/channel-listeners.ts': 'channels',
  'shared/housekeeping.ts': 'jobs',
  'shared/metrics/authentication-metrics.ts': 'schemes and codes of problems',
  'shared/schemes/presented.ts': 'schemes',
}

it('says of each Map and Set that is filled at run time what bounds it', () => {
  const servers = sourceFiles().filter(({ path }) => /^(auth-server|deal-server|shared)\/(?!ops\/)/.test(path))
  const filled = servers.filter(({ code }) => /\bnew (?:Map|Set)(?:<[^()]*>)?\(\)/.test(code)).map(({ path }) => path)
  expect(filled.filter((path) => !(path in reasons))).toEqual([])
})
