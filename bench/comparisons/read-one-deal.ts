import type { Comparison, Subject } from '../runner/compare.ts'
import { numbersOf, readBareDeal } from '../servers/bare-reads.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import {
  askForNonce,
  basicFields,
  digestFields,
  type Fields,
  keySignedFields,
  makeApiKey,
  makeDigestUser,
  makeUsers,
  sessionFields,
  signPath,
} from '../servers/credentials.ts'
import { dealPath, readDeal, request, type Token } from '../servers/requests.ts'

/** More requests than a connection can send in a second. */
const digestsPerSecond = 500

/** Compares GET of one deal, by each scheme, with a server that knows no caller. All credentials were seen before. */
export async function readOneDeal(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const { authOrigin, accessToken, user, deal: server } = keyhold
  const numberOf = numbersOf(bench)
  const subject = (name: string, token: Token, fields: Fields = {}) =>
    overHttp(bench, { name, server, requestsOf: (client) => [readDeal(numberOf(client), token, fields)] })
  const apiKey = await makeApiKey(authOrigin, accessToken)
  const signed = (client: number) =>
    request(`GET ${signPath(apiKey, dealPath(numberOf(client)))}`, { token: undefined })
  const keySigned = (include: readonly string[]) => keySignedFields(authOrigin, user, include)
  return {
    title: `GET of one deal by ${settings.clients} callers`,
    unit: 'responses',
    floors: [readBareDeal(bench), subject('Bearer', accessToken)],
    subjects: [
      subject('session cookie', undefined, await sessionFields(authOrigin, user)),
      subject('KeySigned', undefined, await keySigned(['username'])),
      subject('KeySigned, with address and password', undefined, await keySigned(['username', 'ip', 'password'])),
      subject('Basic', undefined, basicFields(user)),
      overHttp(bench, {
        name: 'signed request, HMAC in the query',
        server,
        requestsOf: (client) => [signed(client)],
        madeForEachTurn: true,
      }),
      await byDigest(bench),
    ],
  }
}

/** GET with Digest. Each connection has its own nonce: counts may be out of order, but should be close together. */
async function byDigest(bench: Bench): Promise<Subject> {
  const { keyhold, settings } = bench
  const { authOrigin: origin, deal: server } = keyhold
  const numberOf = numbersOf(bench)
  const token = await keyhold.logIn()
  const [named = keyhold.user] = await makeUsers(origin, { token, prefix: 'digest', count: 1 })
  const user = await makeDigestUser(origin, token, named)
  const requestsOf = async (client: number) => {
    const uri = dealPath(numberOf(client))
    const nonce = await askForNonce(`http://127.0.0.1:${server.port}${uri}`)
    const fieldsOf = (index: number) => digestFields(user, { nonce, uri, count: index + 1 })
    const count = Math.ceil(digestsPerSecond * settings.seconds)
    return Array.from({ length: count }, (_, index) => readDeal(numberOf(client), undefined, fieldsOf(index)))
  }
  return overHttp(bench, { name: 'Digest, one nonce for each connection', server, requestsOf, madeForEachTurn: true })
}
