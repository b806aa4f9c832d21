import { verify as verifySignature } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock as clock } from '../../shared/platform/clock.ts'
import { argon2 } from '../../shared/platform/crypto/argon2-threads.ts'
import { createAccessTokenVerifier } from '../../shared/protocol/access-token/verify-access-token.ts'
import { rsaPair } from '../../test/support/rsa-pair.ts'
import type { Comparison } from '../runner/compare.ts'
import { median } from '../runner/figures.ts'
import { issueTokens } from './issue-tokens.ts'
import { inTurn, repeated, repeatedAsync } from './repeated.ts'

const kid = 'k'.repeat(43)
const place = { issuer: 'http://127.0.0.1:4000', audience: 'deals' }
const tokenCount = 1_000

/** Compares the verification of access tokens that are not remembered with its RSA operation. */
export async function verifyTokens(): Promise<Comparison> {
  const { verify, verifyBare } = await verifiersInTurn()
  return {
    title: 'Verifying access tokens that were not seen before, RS256 with RSA-2048',
    unit: 'operations',
    floors: [repeated('crypto.verify', verifyBare)],
    subjects: [repeatedAsync('one token', verify), repeatedAsync('32 at once', verify, { atOnce: 32 })],
  }
}

/**
 * How long a verification takes, in milliseconds, beside hashes in threads of their own: jose waits for libuv's thread
 * pool, and the bare `crypto.verify` for nothing.
 */
export async function measureVerifyingBesideHashes({ seconds }: { readonly seconds: number }): Promise<string> {
  const { verify, verifyBare } = await verifiersInTurn()
  const lines: string[] = []
  for (const hashes of [0, 1, 4, 8]) {
    const stopHashing = startHashing(hashes)
    const took = { bare: [] as number[], token: [] as number[] }
    const until = clock.monotonic() + 5 * seconds * 1000
    while (clock.monotonic() < until) {
      took.bare.push(await elapsedMs(verifyBare))
      await pause(2)
      took.token.push(await elapsedMs(verify))
      await pause(2)
    }
    await stopHashing()
    lines.push(`| ${hashes} | ${percentiles(took.bare)} | ${percentiles(took.token)} |`)
  }
  const head = ['| hashes at once | crypto.verify p50, p99 ms | one token p50, p99 ms |', '|---|---:|---:|']
  return ['## Verifying one access token beside Argon2id hashes', '', ...head, ...lines, ''].join('\n')
}

/** The verification of the next token, and of its bare signature. */
async function verifiersInTurn() {
  const { privateKey, publicKey } = rsaPair()
  const tokens = await issueTokens(tokenCount, {
    ...place,
    generation: 1,
    signingKey: { kid, alg: 'RS256', privateKey },
  })
  const verifyToken = createAccessTokenVerifier({ ...place, keys: { key: () => publicKey }, clock })
  const nextToken = inTurn(tokens)
  const nextSigned = inTurn(tokens.map(signedOf))
  return {
    verify: async () => (await verifyToken(nextToken())).ok,
    verifyBare: () => {
      const { input, signature } = nextSigned()
      return verifySignature('RSA-SHA256', input, publicKey, signature)
    },
  }
}

function signedOf(token: string) {
  const end = token.lastIndexOf('.')
  return { input: Buffer.from(token.slice(0, end)), signature: Buffer.from(token.slice(end + 1), 'base64url') }
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
    while (!isOver)
      await argon2.hash('correct horse battery staple', { memoryCost: 19_456, timeCost: 2, parallelism: 1 })
  }
  const hashing = Array.from({ length: atOnce }, hashOnAndOn)
  return () => {
    isOver = true
    return Promise.all(hashing)
  }
}
