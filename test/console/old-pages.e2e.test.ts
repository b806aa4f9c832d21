import { afterAll, beforeAll, expect, it } from 'vitest'
import { rememberSecret } from '../support/clients/http-client.ts'
import {
  type ConsoleWorld,
  expectPage,
  openConsole,
  type PageReader,
  tagShown,
} from '../support/worlds/console-world.ts'

let world: ConsoleWorld
let admin: PageReader

beforeAll(async () => {
  world = await openConsole()
  admin = await world.readAs('admin')
})
afterAll(() => world.close())

const password = 'a good phrase for new users'
rememberSecret(password)

it.each([
  ['users/noel', { username: 'noel', password }, { action: 'grants' }],
  ['users/olga', { username: 'olga', password }, { action: 'enable' }],
  ['roles/passing', { name: 'passing' }, { action: 'change', description: 'x' }],
  ['resource-servers/p', { id: 'p', name: 'P', audience: 'urn:p' }, { action: 'change', name: 'x', audience: 'urn:p' }],
] as const)('an old page of %s, and a form without its tag, change nothing', async (page, made, change) => {
  const [list = '', confirm = ''] = page.split('/')
  const path = `/account/${page}`
  expect((await admin.post(`/account/${list}`, made)).status).toBe(303)
  const old = tagShown(await admin.get(path))
  const present = { 'roles.viewer': 'true', description: 'Other', name: 'Q', audience: 'urn:q' }
  await admin.postShown(path, { action: list === 'users' ? 'grants' : 'change', ...present })
  const tag = tagShown(await admin.get(path))
  expect(tag).not.toBe(old)
  for (const fields of [change, { action: 'delete', confirm }])
    for (const sent of [{ etag: old }, {}])
      expectPage(await admin.post(path, { ...fields, ...sent }), 412, 'somebody has changed it since it was read')
  expect(tagShown(await admin.get(path))).toBe(tag)
  if (list === 'users') expect((await admin.post(path, { action: 'disable', etag: old })).status).toBe(303)
  expect((await admin.postShown(path, { action: 'delete', confirm })).status).toBe(303)
})
