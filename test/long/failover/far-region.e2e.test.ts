/** A deal server far from its primary, its Redis and its auth server (docs/scale.md#6-regions). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answering, type ChildServer, startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { type SlowRelay, startSlowRelay } from '../../support/processes/proxies/slow-relay.ts'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'
import { redisServerInstalled } from '../../support/processes/stores/redis-server.ts'
import { openPostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, type Stack, type TestServer, testServer } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

const binaries = findPostgresBinaries()
/** One way between the regions, in milliseconds: as from Frankfurt to New York. */
const oneWayMs = 40

describe.skipIf(!binaries || !redisServerInstalled)('a deal server in another region', () => {
  let primary: PostgresServer
  let stack: Stack
  let child: ChildServer
  let far: TestServer
  let access: string
  const relays: SlowRelay[] = []

  /** The same address, as it is reached from the other region. */
  const fromAfar = async (url = ''): Promise<string> => {
    const relay = await startSlowRelay(Number(new URL(url).port))
    relays.push(relay)
    return url.replace(/(127\.0\.0\.1|localhost):\d+/, `127.0.0.1:${relay.port}`)
  }

  beforeAll(async () => {
    primary = await PostgresServer.create(binaries ?? '')
    stack = await openStack(() => openPostgresAndRedis(primary.url), { logLevel: 'silent' })
    const { DEAL_DATABASE_URL: databaseUrl = '', REDIS_URL: redisUrl } = stack.environment
    const port = await freePort()
    const environment = {
      ...stack.environment,
      DEAL_PORT: String(port),
      LOG_LEVEL: 'warn',
      ISSUER: stack.auth.url,
      AUTH_URL: await fromAfar(stack.auth.url),
      DEAL_DATABASE_URL: await fromAfar(databaseUrl),
      REDIS_URL: await fromAfar(redisUrl),
    }
    for (const relay of relays) relay.slowDown(oneWayMs)
    child = startChild('deal-server/main.ts', { environment })
    far = testServer(port, 'http')
    await answering(`${far.url}/readyz`, child)
    access = (await stack.logIn('alice')).access
  })
  afterAll(async () => {
    await child?.end('SIGKILL')
    for (const relay of relays) await relay.close()
    await stack?.close()
    await primary?.remove()
  })

  it('refuses within a second a right that was taken away at home', async () => {
    const admin = (await stack.logIn('admin')).access
    const json = { username: 'traveller', password: 'a long password of a traveller', roles: ['agent'] }
    expect((await stack.auth.send('/users', { token: admin, json })).status).toBe(201)
    const { access: token } = await stack.logIn('traveller', json.password)
    const deal = { name: 'from afar', price: 1 }
    expect((await far.send('/rest/v1/deals/', { token, json: deal })).status).toBe(201)
    const taken = await stack.auth.send('/users/traveller', {
      method: 'PATCH',
      token: admin,
      json: { roles: ['viewer'] },
    })
    expect(taken.status, taken.text).toBe(200)
    await withinASecond(() => far.send('/rest/v1/deals/', { token, json: deal }), { from: 201, to: 403 })
  })

  it('refuses everything within a second when the link is cut', async () => {
    const read = () => far.send('/rest/v1/deals/', { token: access })
    expect((await read()).status).toBe(200)
    for (const relay of relays) await relay.close()
    await withinASecond(read, { from: 200, to: 503 })
  })
})
