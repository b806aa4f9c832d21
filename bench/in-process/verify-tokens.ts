import { createPublicKey, type KeyObject, verify as verifySignature } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { hash } from '@node-rs/argon2'
import { compactVerify, jwtVerify } from 'jose'
import { systemClock as clock } from '../../shared/platform/clock.ts'
import { accessTokenClaimsSchema, accessTokenTyp } from '../../shared/protocol/access-token/access-token.ts'
import { parseCompactJws } from '../../shared/protocol/access-token/compact-jws.ts'
import { createAccessTokenVerifier } from '../../shared/protocol/access-token/verify-access-token.ts'
import type { Comparison } from '../runner/compare.ts'
import { median } from '../runner/figures.ts'
import { issueTokens } from './issue-tokens.ts'
import { inTurn, repeated, repeatedAsync } from './repeated.ts'
import { rsaPair } from './rsa-pair.ts'

const kid = 'k'.repeat(43)
const place = { issuer: 'http://127.0.0.1:4000', audience: 'deals' }
const tokenCount = 1_000

/** The cost of verifying access tokens that are not remembered: the own verification, and jose. */
export async function verifyTokens(): Promise<Comparison> {
  const { privateKey, publicKey: key } = rsaPair()
  const tokens = await issueTokens(tokenCount, { ...place, generation: 1, signingKey: { kid, privateKey } })
  const verify = createAccessTokenVerifier({ ...place, keys: { key: () => key }, clock })
  const byJose = verifyByJose(key)
  const nextToken = inTurn(tokens)
  const nextJws = inTurn(tokens.map(jwsOf))
  const pem = key.export({ type: 'spki', format: 'pem' })
  return {
    title: 'Verifying access tokens that were not seen before, RS256 with RSA-2048',
    unit: 'operations',
    floors: [
      repeated('crypto.verify', () => {
        const { signingInput, signature } = nextJws()
        return verifySignature('RSA-SHA256', signingInput, key, signature)
      }),
    ],
    subjects: [
      repeated('own verification', () => verify(nextToken()).ok),
      repeatedAsync('jose, compactVerify', () => compactVerify(nextToken(), key, { algorithms: ['RS256'] })),
      repeatedAsync('jose, jwtVerify and the schema of claims', () => byJose(nextToken())),
      repeatedAsync('the same, 32 at once', () => byJose(nextToken()), { atOnce: 32 }),
      repeated('own verification, key from PEM', () =>
        createAccessTokenVerifier({ ...place, keys: { key: () => createPublicKey(pem) }, clock })(nextToken()),
      ),
      repeatedAsync('jose, key from PEM', () => verifyByJose(createPublicKey(pem))(nextToken())),
    ],
  }
}

/**
 * How long a verification takes, in milliseconds, beside hashes that wait in libuv's thread pool, which has four
 * threads.
 */
export async function measureVerifyingBesideHashes({ seconds }: { readonly seconds: number }): Promise<string> {
  const { privateKey, publicKey: key } = rsaPair()
  const nextToken = inTurn(await issueTokens(tokenCount, { ...place, generation: 1, signingKey: { kid, privateKey } }))
  const verify = createAccessTokenVerifier({ ...place, keys: { key: () => key }, clock })
  const byJose = verifyByJose(key)
  const lines: string[] = []
  for (const hashes of [0, 1, 4, 8]) {
    const stopHashing = startHashing(hashes)
    const took = { own: [] as number[], jose: [] as number[] }
    const until = clock.monotonic() + 5 * seconds * 1000
    while (clock.monotonic() < until) {
      took.own.push(await elapsedMs(() => verify(nextToken())))
      await pause(2)
      took.jose.push(await elapsedMs(() => byJose(nextToken())))
      await pause(2)
    }
    await stopHashing()
    lines.push(`| ${hashes} | ${percentiles(took.own)} | ${percentiles(took.jose)} |`)
  }
  const head = ['| hashes at once | own p50, p99 ms | jose p50, p99 ms |', '|---|---:|---:|']
  return ['## Verifying one access token beside Argon2id hashes', '', ...head, ...lines, ''].join('\n')
}

async function elapsedMs(work: () => unknown): Promise<number> {
  const started = clock.monotonic()
  await work()
  return clock.monotonic() - started
}

function percentiles(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b)
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
  return `${median(sorted).toFixed(3)}, ${p99.toFixed(3)}`
}

/** Computes so many hashes at once, over and over, until the function that it gives is called. */
function startHashing(atOnce: number): () => Promise<unknown> {
  let isOver = false
  const hashOnAndOn = async () => {
    while (!isOver) await hash('correct horse battery staple', { memoryCost: 19_456, timeCost: 2, parallelism: 1 })
  }
  const hashing = Array.from({ length: atOnce }, hashOnAndOn)
  return () => {
    isOver = true
    return Promise.all(hashing)
  }
}

/** What the own verification checks, by jose. @throws errors of jose */
function verifyByJose(key: KeyObject, { issuer, audience } = place): (token: string) => Promise<boolean> {
  const options = { algorithms: ['RS256'], typ: accessTokenTyp, issuer, audience }
  return async (token) => {
    const { payload } = await jwtVerify(token, key, options)
    return accessTokenClaimsSchema.safeParse(payload).success
  }
}

function jwsOf(token: string) {
  const jws = parseCompactJws(token)
  if (typeof jws === 'string') throw new Error(jws)
  return jws
}
