import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { type ChildServer, startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { preparedKeysDir } from '../../support/processes/prepared-keys.ts'
import { releasedVersion, startReleased } from '../../support/processes/released.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { logIn, type TestServer, testServer } from '../../support/worlds/stack.ts'
import { wholeJourney, workOnDeal } from './journey.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyhold-releases-'))
const children: ChildServer[] = []
/** Of `admin`; the first start prints it. */
let password = ''

interface Started {
  readonly child: ChildServer
  readonly auth: TestServer
  readonly deal: TestServer
}

/** Starts both servers on the folder that the ones before have left. */
async function start(startServers: typeof startChild): Promise<Started> {
  const [auth, deal] = [testServer(await freePort()), testServer(await freePort())]
  const ports = { AUTH_PORT: String(auth.port), DEAL_PORT: String(deal.port) }
  const settings = { DATA_DIR: folder, KEYS_DIR: await preparedKeysDir(), LOG_FORMAT: 'json', LOG_LEVEL: 'warn' }
  const child = startServers('start.ts', { environment: { ...settings, ...ports }, arguments: ['--no-demo'] })
  children.push(child)
  await expect.poll(() => child.output()).toContain('Keyhold is running.')
  return { child, auth, deal }
}

const readsDeal = async ({ auth, deal }: Started, id: string): Promise<void> => {
  const { access: token } = await logIn(auth, 'admin', password)
  const { status, body } = await deal.send(`/rest/v1/deals/${id}`, { token })
  expect([status, body.name, body.version]).toEqual([200, 'other', 4])
}

const work = async ({ auth, deal }: Started): Promise<string> =>
  workOnDeal({ deal }, (await logIn(auth, 'admin', password)).access)

describeEmbedded(`servers of ${releasedVersion} on a database of the present code`, () => {
  afterAll(async () => {
    for (const child of children) await child.end('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  it('start, do all that callers ask of them, and leave data that the present servers go on with', async () => {
    const present = await start(startChild)
    password = /password, shown only now: (\S+)/.exec(present.child.output())?.[1] ?? ''
    const ofPresent = await work(present)
    expect(await present.child.end('SIGTERM')).toBe(0)

    const former = await start(startReleased)
    expect((await former.auth.send('/openapi.json')).body.info).toMatchObject({ version: releasedVersion })
    await readsDeal(former, ofPresent)
    await wholeJourney({ ...former, password })
    const ofFormer = await work(former)
    expect(await former.child.end('SIGTERM')).toBe(0)
    expect(former.child.output()).not.toMatch(/"level":[56]0/)

    const again = await start(startChild)
    await readsDeal(again, ofPresent)
    await readsDeal(again, ofFormer)
    expect(await again.child.end('SIGTERM')).toBe(0)
    expect(again.child.output()).not.toMatch(/"level":[56]0/)
  })
})
