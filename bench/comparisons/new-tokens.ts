import { decodeJwt } from 'jose'
import { pino } from 'pino'
import { openKeyRing } from '../../auth-server/key-ring/key-ring.ts'
import { issueTokens } from '../in-process/issue-tokens.ts'
import type { Comparison } from '../runner/compare.ts'
import { numbersOf } from '../servers/bare-reads.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { readDeal } from '../servers/requests.ts'

/** More tokens than a deal server remembers (`verified-token-cache.ts`): sent in turn, each is verified anew. */
const tokenCount = 11_200

/** Compares GET of one deal with access tokens that the server does not remember with one that it remembers. */
export async function readWithNewTokens(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const { accessToken, tokenOf, deal: server } = keyhold
  const keyRing = await openKeyRing({ directory: keyhold.keysDir, passphrase: undefined }, pino({ level: 'silent' }))
  const { iss: issuer = '', aud, gen } = decodeJwt(accessToken)
  const claims = { issuer, audience: String(aud), username: keyhold.user.username, generation: Number(gen) }
  const tokens = await issueTokens(tokenCount, { ...claims, signingKey: keyRing.signingKey('jwt') })
  await keyRing.close()
  const numberOf = numbersOf(bench)
  const ownTokens = (caller: number) => tokens.filter((_, index) => index % settings.callers === caller)
  const subject = (name: string, tokensOf: (caller: number) => readonly string[]) => {
    const requestsOf = (caller: number) => tokensOf(caller).map((token) => readDeal(numberOf(caller), token))
    return overHttp(bench, { name, server, requestsOf })
  }
  return {
    title: `GET of one deal by ${settings.callers} callers, each time with another access token`,
    unit: 'responses',
    floors: [subject('a token seen before', (caller) => [tokenOf(caller)])],
    subjects: [subject('a token that is not remembered', ownTokens)],
  }
}
