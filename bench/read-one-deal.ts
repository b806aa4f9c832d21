import { type Bench, cyclesFor, httpTurn } from './bench.ts'
import type { Comparison, Subject } from './compare.ts'
import { askForNonce, digestFields, makeDigestUser, makeUsers, signPath } from './credentials.ts'
import { dealPath, readDeal, request, type Token } from './requests.ts'

/** More requests than a connection can send in a second. */
const digestsPerSecond = 500

/** Measures authentication: GET of one deal with each scheme, compared with the same interface for a fixed caller. */
export async function readOneDeal(bench: Bench): Promise<Comparison> {
  const { clients, deals, servers } = bench
  const { session, basic, keySigned, apiKey } = servers
  const numberOf = (client: number) => Math.floor((client * deals) / clients)
  const subject = (name: string, port: number, token: Token, headers: Readonly<Record<string, string>> = {}) => {
    const cycles = cyclesFor(clients, port, (client) => [readDeal(numberOf(client), token, headers)])
    return { name, turn: (seconds: number) => httpTurn(bench, { cycles, expected: '200' }, seconds) }
  }
  const signed: Subject = {
    name: 'signed request, HMAC in the query',
    turn: (seconds) => {
      const get = (n: number) => request(`GET ${signPath(apiKey, dealPath(n))}`, { token: undefined })
      const cycles = cyclesFor(clients, servers.port, (client) => [get(numberOf(client))])
      return httpTurn(bench, { cycles, expected: '200' }, seconds)
    },
  }
  return {
    title: 'GET of one deal by 32 callers',
    unit: 'responses',
    floor: subject('fixed caller, no authentication', servers.fixedCallerPort, undefined),
    subjects: [
      subject('Bearer', servers.port, servers.accessToken),
      subject('KeySigned', servers.port, undefined, keySigned.name),
      subject('KeySigned, with address and password', servers.port, undefined, keySigned.everything),
      signed,
      subject('session cookie', servers.port, undefined, session),
      subject('Basic', servers.port, undefined, basic),
      await byDigest(bench, numberOf),
    ],
  }
}

/** GET with Digest. Each connection has its own nonce: counts may be out of order, but should be close together. */
async function byDigest(bench: Bench, numberOf: (client: number) => number): Promise<Subject> {
  const { clients, servers } = bench
  const [origin, token] = [servers.authOrigin, await servers.logIn()]
  const [named] = await makeUsers(origin, { token, prefix: 'digest', count: 1 })
  if (!named) throw new Error('No user was created.')
  const user = await makeDigestUser(origin, token, named)
  const requestsOf = async (n: number, count: number) => {
    const uri = dealPath(n)
    const nonce = await askForNonce(`http://127.0.0.1:${servers.port}${uri}`)
    const fieldsOf = (index: number) => digestFields(user, { nonce, uri, count: index + 1 })
    return Array.from({ length: count }, (_, index) => readDeal(n, undefined, fieldsOf(index)))
  }
  const turn = async (seconds: number) => {
    const count = Math.ceil(digestsPerSecond * seconds)
    const prepared = Array.from({ length: clients }, (_, client) => requestsOf(numberOf(client), count))
    const requests = await Promise.all(prepared)
    const cycles = cyclesFor(clients, servers.port, (client) => requests[client] ?? [])
    return httpTurn(bench, { cycles, expected: '200' }, seconds)
  }
  return { name: 'Digest, one nonce for each connection', turn }
}
