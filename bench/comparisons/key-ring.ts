import { setTimeout as sleep } from 'node:timers/promises'
import { generateKey, type KeyRingOperation, revokeKey } from '../../auth-server/key-ring/operate-key-ring.ts'
import { systemClock as clock } from '../../shared/platform/clock.ts'
import type { OnRound } from '../runner/compare.ts'
import { median, rounded } from '../runner/figures.ts'
import type { Bench } from '../servers/bench.ts'

/** Pause before a key is revoked, so that all servers know its successor, in milliseconds. */
const pauseMs = 1_000

/**
 * Measures how soon a change of the key ring reaches three deal servers: from the end of `keys revoke` until a token of
 * that key is refused. Afterwards all earlier tokens are invalid.
 */
export async function measureKeyRing(bench: Bench, onRound: OnRound): Promise<string> {
  const { keyhold, closeLater } = bench
  const { rounds } = bench.settings
  const others = [await keyhold.startDealServer(), await keyhold.startDealServer()]
  for (const other of others) closeLater(other.stop)
  const ports = [keyhold.deal, ...others].map(({ port }) => port)
  const life = 1_800_000
  const rules = { maxAgeMs: 86_400_000, longestTokenLifeMs: { jwt: life, 'key-signed': life } }
  const operation: KeyRingOperation = { directory: keyhold.keysDir, bits: 2048, rules, clock }
  const firsts: number[] = []
  const lasts: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    onRound(round, rounds)
    await generateKey(operation, 'jwt')
    await sleep(pauseMs)
    const token = await keyhold.logIn()
    await revokeKey(operation, kidOf(token), 'benchmark')
    const times = (await Promise.all(ports.map((port) => refusedAfter(port, token)))).toSorted((a, b) => a - b)
    firsts.push(times[0] ?? Number.NaN)
    lasts.push(times.at(-1) ?? Number.NaN)
  }
  return [
    '## From `keys revoke` to the refusal of a token, by three deal servers',
    '',
    `${rounds} rounds, times in ms:`,
    '',
    '| | p50 | maximum |',
    '|---|---:|---:|',
    row('by the first', firsts),
    row('by the last', lasts),
    '',
  ].join('\n')
}

const row = (name: string, times: readonly number[]): string =>
  `| ${name} | ${rounded(median(times))} | ${rounded(Math.max(...times))} |`

const kidOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid

async function refusedAfter(port: number, token: string): Promise<number> {
  const started = clock.monotonic()
  for (;;) {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`http://127.0.0.1:${port}/rest/v1/deals?limit=1`, { headers })
    await response.arrayBuffer()
    if (response.status === 401) return clock.monotonic() - started
    if (response.status !== 200) throw new Error(`A deal server answered ${response.status}.`)
    await sleep(2)
  }
}
