import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Reply } from '../../support/clients/http-client.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { describePostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, type Stack, type TestServer } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

let stack: Stack

const read = ({ send }: TestServer, cookie: string) => send('/rest/v1/deals', { headers: { cookie } })

/** Both deal servers know the session; then it ends; then both refuse it, and go on refusing it. */
const endsEverywhere = async (end: (session: { key: string; id: string; cookie: string }) => Promise<Reply>) => {
  const session = await signIn(stack, 'carol')
  for (const deal of [...stack.deals, ...stack.deals]) expect((await read(deal, session.cookie)).status).toBe(200)
  expect((await end(session)).status).toBe(204)
  await Promise.all(stack.deals.map((deal) => withinASecond(() => read(deal, session.cookie), { from: 200, to: 401 })))
  for (let round = 0; round < 10; round += 1) {
    for (const deal of stack.deals) expect((await read(deal, session.cookie)).status).toBe(401)
  }
}

const remove = (path: string) => stack.auth.send(path, { method: 'DELETE' })

describePostgresAndRedis('sessions without Redis', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { dealServers: 2 })
  })
  afterAll(() => stack.close())

  it('begin, last, move and end as ever, and those from before go on', async () => {
    const before = await signIn(stack, 'carol')
    const untouched = await signIn(stack, 'carol')
    for (const deal of stack.deals) expect((await read(deal, before.cookie)).status).toBe(200)
    await stack.redis?.kill()
    try {
      for (const { cookie } of [before, untouched, await signIn(stack, 'bob')]) {
        for (const deal of stack.deals) expect((await read(deal, cookie)).status).toBe(200)
      }
      for (let round = 0; round < 3; round += 1) {
        stack.clock.advanceSeconds(1700)
        expect((await read(stack.deal, before.cookie)).status).toBe(200)
      }
      for (const deal of stack.deals) {
        expect((await read(deal, before.cookie)).status).toBe(200)
        expect((await read(deal, untouched.cookie)).status).toBe(401)
      }
      await endsEverywhere(({ key }) => remove(`/sessions/${key}`))
    } finally {
      await stack.redis?.start()
    }
    for (const deal of stack.deals) expect((await read(deal, before.cookie)).status).toBe(200)
    await endsEverywhere(({ key }) => remove(`/sessions/${key}`))
  })

  it('do not come back with an old dump of Redis', async () => {
    const { cookie, key } = await signIn(stack, 'carol')
    for (const deal of stack.deals) expect((await read(deal, cookie)).status).toBe(200)
    await stack.redis?.command('SAVE')
    expect((await remove(`/sessions/${key}`)).status).toBe(204)
    await stack.redis?.kill()
    await stack.redis?.start()
    for (let round = 0; round < 20; round += 1) {
      for (const deal of stack.deals) expect((await read(deal, cookie)).status).toBe(401)
      await sleep(50)
    }
  })
})
