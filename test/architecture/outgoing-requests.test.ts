import { expect, it } from 'vitest'
import { readSource, type SourceFile, sourceFiles } from './source.ts'

/** Which files of the servers send HTTP requests, and where to. */
const senders = {
  'shared/platform/tracing/opentelemetry/traced-requests.ts': 'for the last file, with a span',
  'shared/platform/webhooks/guarded-post.ts': 'to the URLs of webhooks, after a look at the address',
  'verify/src/auth-client/auth-client.ts': 'to the auth server that is followed',
}

/** Packages that can send requests of their own accord, and the file that keeps them from it or says where to. */
const packagesThatSend = {
  '@opentelemetry/exporter-trace-otlp-http': 'shared/platform/tracing/opentelemetry/exporter.ts',
  '@simplewebauthn/server': 'auth-server/second-factors/passkeys.ts',
}

const sends = ({ lines }: SourceFile): boolean =>
  lines.some((line) =>
    /(?<!\.)\bfetch\((?!fetch:)|^import (?!type).*\brequest\b.* from 'node:https?'|node:http2/.test(line),
  )

it('sends requests from these files alone', () => {
  const servers = sourceFiles().filter(
    ({ path }) => /^(auth-server|deal-server|shared|verify)\//.test(path) && !/\/(cli|assets)\//.test(path),
  )
  expect(
    servers
      .filter(sends)
      .map(({ path }) => path)
      .sort(),
  ).toEqual(Object.keys(senders))
  for (const [name, owner] of Object.entries(packagesThatSend)) {
    expect(servers.filter(({ imports }) => imports.includes(name)).map(({ path }) => path)).toEqual([owner])
  }
})

it.each(["await fetch('http://x')", "import { request } from 'node:https'", "import http2 from 'node:http2'"])(
  'sees %s',
  (line) => {
    expect(sends(readSource('a.ts', line))).toBe(true)
  },
)
