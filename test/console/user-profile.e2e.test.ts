import { afterAll, beforeAll, expect, it } from 'vitest'
import { rememberSecret } from '../support/clients/http-client.ts'
import { type ConsoleWorld, expectPage, openConsole, type PageReader } from '../support/worlds/console-world.ts'

let world: ConsoleWorld
let admin: PageReader

beforeAll(async () => {
  world = await openConsole()
  admin = await world.readAs('admin')
})
afterAll(() => world.close())

const password = 'a good phrase for new users'
rememberSecret(password)

const create = (username: string, fields: Readonly<Record<string, string>> = {}) =>
  admin.post('/account/users', { username, password, enabled: 'true', ...fields })
const pageOf = (username: string) => `/account/users/${encodeURIComponent(username)}`
const act = (username: string, action: string, fields: Readonly<Record<string, string>> = {}) =>
  admin.postShown(pageOf(username), { action, ...fields })

it('users get a name and an address, whose tick does not go over to another address', async () => {
  const named = { displayName: 'Fred', email: 'fred@example.org', emailVerified: 'true' }
  await create('fred', named)
  const fields = async () => {
    const { text } = await admin.get(pageOf('fred'))
    const of = (name: string) => new RegExp(`<input id="${name}"[^>]*>`).exec(text)?.[0] ?? ''
    const value = (name: string) => / value="([^"]*)"/.exec(of(name))?.[1]
    return [value('displayName'), value('email'), of('emailVerified').includes(' checked')]
  }
  expect(await fields()).toEqual(['Fred', 'fred@example.org', true])
  for (const isVerified of [false, true]) {
    expect((await act('fred', 'profile', { ...named, email: 'fred@example.net' })).status).toBe(303)
    expect(await fields()).toEqual(['Fred', 'fred@example.net', isVerified])
  }
  expectPage(await act('fred', 'profile', { email: 'nowhere' }), 422, 'There is a problem', 'value="nowhere"')
  expect((await act('fred', 'profile', { displayName: '', email: '' })).status).toBe(303)
  expect(await fields()).toEqual(['', '', false])
})
