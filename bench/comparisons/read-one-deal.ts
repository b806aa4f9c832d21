import type { Comparison, Subject } from '../runner/compare.ts'
import { numbersOf, readBareDeal } from '../servers/bare-reads.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import {
  askForNonce,
  basicFields,
  digestFields,
  type Fields,
  forCallers,
  keySignedFields,
  makeApiKey,
  makeDigestUser,
  sessionFields,
  signPath,
  type User,
} from '../servers/credentials.ts'
import { dealPath, readDeal, request } from '../servers/requests.ts'
import { readsOf } from './works.ts'

/** More requests than a caller can send in a second. */
const digestsPerSecond = 400

/** Compares GET of one deal, by each scheme, with a server that knows no caller. All credentials were seen before. */
export async function readOneDeal(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const { authOrigin, tokenOf, users, deal: server } = keyhold
  const numberOf = numbersOf(bench)
  const subject = async (name: string, fieldsOf: (user: User) => Fields | Promise<Fields>) => {
    const fieldsOfCaller = await forCallers(users, async (user) => fieldsOf(user))
    const requestsOf = (caller: number) => [readDeal(numberOf(caller), undefined, fieldsOfCaller(caller))]
    return overHttp(bench, name, { server, requestsOf })
  }
  const apiKeyOf = await forCallers(users, (_, caller) => makeApiKey(authOrigin, tokenOf(caller)))
  const keySigned = (include: readonly string[]) => (user: User) => keySignedFields(authOrigin, user, include)
  return {
    title: `GET of one deal by ${settings.callers} callers`,
    unit: 'responses',
    floors: [readBareDeal(bench), overHttp(bench, 'Bearer', readsOf(bench, keyhold))],
    subjects: [
      await subject('session cookie', (user) => sessionFields(authOrigin, user)),
      await subject('KeySigned', keySigned(['username'])),
      await subject('KeySigned, with address and password', keySigned(['username', 'ip', 'password'])),
      await subject('Basic', basicFields),
      overHttp(bench, 'signed request, HMAC in the query', {
        server,
        requestsOf: (caller) => [
          request(`GET ${signPath(apiKeyOf(caller), dealPath(numberOf(caller)))}`, { token: undefined }),
        ],
        madeForEachTurn: true,
      }),
      await byDigest(bench),
      overHttp(bench, 'GET /me of the auth server, Bearer', {
        server: keyhold.auth,
        requestsOf: (caller) => [request('GET /me', { token: tokenOf(caller) })],
      }),
    ],
  }
}

/** GET with Digest. Each caller has its own nonce: counts may be out of order, but should be close together. */
async function byDigest(bench: Bench): Promise<Subject> {
  const { keyhold, settings } = bench
  const { authOrigin: origin, deal: server } = keyhold
  const numberOf = numbersOf(bench)
  const userOf = await forCallers(keyhold.users, (user) => makeDigestUser(origin, keyhold.accessToken, user))
  const requestsOf = async (caller: number) => {
    const uri = dealPath(numberOf(caller))
    const user = userOf(caller)
    const nonce = await askForNonce(`http://127.0.0.1:${server.port}${uri}`)
    const fieldsOf = (index: number) => digestFields(user, { nonce, uri, count: index + 1 })
    const count = Math.ceil(digestsPerSecond * settings.seconds)
    return Array.from({ length: count }, (_, index) => readDeal(numberOf(caller), undefined, fieldsOf(index)))
  }
  return overHttp(bench, 'Digest, one nonce for each caller', { server, requestsOf, madeForEachTurn: true })
}
