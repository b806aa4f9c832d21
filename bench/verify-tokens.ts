import { createPublicKey, generateKeyPairSync, type KeyObject, verify as verifySignature } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { hash } from '@node-rs/argon2'
import { compactVerify, decodeJwt, jwtVerify } from 'jose'
import { openKeyRing } from '../auth-server/key-ring/key-ring.ts'
import { createAccessTokenIssuer } from '../auth-server/tokens/access-tokens.ts'
import { createDealRepository } from '../deal-server/store/deals.ts'
import { systemClock as clock, unixSeconds } from '../shared/platform/clock.ts'
import type { HttpRequest } from '../shared/platform/http/request.ts'
import { createIdSource } from '../shared/platform/ids.ts'
import { accessTokenClaimsSchema, accessTokenTyp } from '../shared/protocol/access-token/access-token.ts'
import { parseCompactJws } from '../shared/protocol/access-token/compact-jws.ts'
import { createAccessTokenVerifier } from '../shared/protocol/access-token/verify-access-token.ts'
import type { Authenticate } from '../shared/protocol/authentication/authenticate.ts'
import { type Bench, cyclesFor, httpTurn } from './bench.ts'
import { type Comparison, median, type Subject } from './compare.ts'
import { inTurn, repeated, repeatedAsync } from './repeated.ts'
import { readDeal } from './requests.ts'
import { fixedCaller } from './servers.ts'

const kid = 'k'.repeat(43)
const place = { issuer: 'http://127.0.0.1:4000', audience: 'deals' }
const tokenCount = 1_000

/** More tokens than a server remembers (`verified-token-cache.ts`): sent in turn, each is verified anew. */
const coldTokenCount = 11_200

/** The cost of verifying access tokens that are not remembered: the own verification, and jose. */
export async function verifyTokens(): Promise<Comparison> {
  const { privateKey, publicKey: key } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const tokens = await issueTokens(tokenCount, { kid, privateKey })
  const verify = createAccessTokenVerifier({ ...place, keys: { key: () => key }, clock })
  const byJose = verifyByJose(key)
  const nextToken = inTurn(tokens)
  const nextJws = inTurn(tokens.map(jwsOf))
  const pem = key.export({ type: 'spki', format: 'pem' })
  return {
    title: 'Verifying access tokens that were not seen before, RS256 with RSA-2048',
    unit: 'operations',
    floor: repeated('crypto.verify', () => {
      const { signingInput, signature } = nextJws()
      return verifySignature('RSA-SHA256', signingInput, key, signature)
    }),
    subjects: [
      repeated('own verification', () => verify(nextToken()).ok),
      repeatedAsync('jose, compactVerify', () => compactVerify(nextToken(), key, { algorithms: ['RS256'] })),
      repeatedAsync('jose, jwtVerify and the schema of claims', () => byJose(nextToken())),
      repeatedAsync('the same, 32 at once', () => byJose(nextToken()), 32),
      repeated('own verification, key from PEM', () =>
        createAccessTokenVerifier({ ...place, keys: { key: () => createPublicKey(pem) }, clock })(nextToken()),
      ),
      repeatedAsync('jose, key from PEM', () => verifyByJose(createPublicKey(pem))(nextToken())),
    ],
  }
}

/**
 * The share of the verification in a request whose token the server does not remember: GET of one deal by 32 callers.
 */
export async function readWithNewTokens(bench: Bench): Promise<Comparison> {
  const { clients, deals, servers } = bench
  const keyRing = await openKeyRing({ directory: servers.keysDir, passphrase: undefined }, servers.follow.log)
  const { issuer, audience } = servers.follow
  const signingKey = keyRing.signingKey('jwt')
  const key = createPublicKey(signingKey.privateKey)
  const tokens = await issueTokens(coldTokenCount, signingKey, servers)
  await keyRing.close()
  const own = createAccessTokenVerifier({ issuer, audience, keys: { key: () => key }, clock })
  const byJose = verifyByJose(key, { issuer, audience })
  const listen = (authenticate: Authenticate) =>
    servers.listenWithFixedCaller(createDealRepository(servers.database), authenticate)
  const ownSurface = await listen(async (request) => (own(tokenOf(request)).ok ? fixedCaller : refuse()))
  const joseSurface = await listen(async (request) => ((await byJose(tokenOf(request))) ? fixedCaller : refuse()))
  const subject = (name: string, port: number): Subject => {
    const nextToken = inTurn(tokens)
    const deal = (client: number) => Math.floor((client * deals) / clients)
    const cycles = cyclesFor(clients, port, (client) =>
      Array.from({ length: coldTokenCount / clients }, () => readDeal(deal(client), nextToken())),
    )
    return { name, turn: (seconds) => httpTurn(bench, { cycles, expected: '200' }, seconds) }
  }
  return {
    title: 'GET of one deal by 32 callers, each time with an access token that the server does not remember',
    unit: 'answers',
    floor: subject('fixed caller, no authentication', servers.fixedCallerPort),
    subjects: [
      subject('own verification, then the caller given', ownSurface.port),
      subject('jose, then the caller given', joseSurface.port),
      subject('the deal server, own verification', servers.port),
    ],
    close: () => Promise.all([ownSurface.close(), joseSurface.close()]),
  }
}

/**
 * How long a verification takes, in milliseconds, beside hashes that wait in libuv's thread pool, which has four
 * threads.
 */
export async function measureVerifyingBesideHashes({ seconds }: { readonly seconds: number }): Promise<string> {
  const { privateKey, publicKey: key } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const nextToken = inTurn(await issueTokens(tokenCount, { kid, privateKey }))
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
    lines.push(`  ${`${hashes} at once`.padEnd(14)}own ${percentiles(took.own)}   jose ${percentiles(took.jose)}`)
  }
  return [`Verifying one access token beside Argon2id hashes  (ms; ${5 * seconds} s each)`, ...lines, ''].join('\n')
}

async function elapsedMs(work: () => unknown): Promise<number> {
  const started = clock.monotonic()
  await work()
  return clock.monotonic() - started
}

function percentiles(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b)
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
  return `p50 ${median(sorted).toFixed(3)}  p99 ${p99.toFixed(3)}`
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

/** So many access tokens; of the benchmark's user when servers are given. */
async function issueTokens(
  count: number,
  signingKey: { readonly kid: string; readonly privateKey: KeyObject },
  servers?: Bench['servers'],
): Promise<string[]> {
  const { issuer, audience } = servers?.follow ?? place
  const ids = createIdSource(clock)
  const issue = createAccessTokenIssuer({ issuer, audience, ids, keys: { signingKey: () => signingKey } })
  const issuedAt = unixSeconds(clock.now())
  const generation = servers === undefined ? 1 : Number(decodeJwt(servers.accessToken).gen)
  const login = { username: 'bench', loginId: '01890a5d-ac96-774b-bcce-b302099a8057', generation }
  const subject = { ...login, clientId: 'keyhold', issuedAt, expiresAt: issuedAt + 86_400 }
  return Promise.all(Array.from({ length: count }, () => issue(subject)))
}

const tokenOf = (request: HttpRequest): string => request.header('authorization')?.slice('Bearer '.length) ?? ''

function refuse(): never {
  throw new Error('the token is not accepted')
}

function jwsOf(token: string) {
  const jws = parseCompactJws(token)
  if (typeof jws === 'string') throw new Error(jws)
  return jws
}
