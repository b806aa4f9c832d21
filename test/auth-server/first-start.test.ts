import { describe, expect, it } from 'vitest'
import { demoUserProblems, demoUsers, holdsOnlyDemo } from '../../auth-server/first-start.ts'

const passwords = new Map(demoUsers.map(({ username, password }) => [username, password]))
const demo = { hasPassword: async (username: string, password: string) => passwords.get(username) === password }
const changed = { hasPassword: async () => false }

const variables = async (...parameters: Parameters<typeof demoUserProblems>) =>
  (await demoUserProblems(...parameters)).map(({ variable }) => variable)

describe('users of the demo with its passwords', () => {
  it.each(['127.0.0.1', 'localhost', '::1'])(
    'are no problem where only this machine gets to them: %s',
    async (host) => {
      expect(await variables({ host, production: false }, demo)).toEqual([])
    },
  )

  it.each(['0.0.0.0', '::', '192.0.2.1', 'auth.example'])(
    'are one on a HOST that others can reach: %s',
    async (host) => {
      expect(await variables({ host, production: false }, demo)).toEqual(['HOST'])
      expect(await variables({ host, production: false }, changed)).toEqual([])
    },
  )

  it('are one in production, wherever', async () => {
    for (const host of ['127.0.0.1', '0.0.0.0']) {
      expect(await variables({ host, production: true }, demo)).toEqual(['AUTH_DATABASE_URL'])
      expect(await variables({ host, production: true }, changed)).toEqual([])
    }
  })
})

describe('a database in which a demo was begun', () => {
  const holding = (names: readonly string[], { hasPassword }: typeof demo = demo) => {
    const user = { roles: [], rights: [], enabled: true, createdAt: 0, updatedAt: 0 }
    const items = names.map((username) => ({ id: username, username, ...user }))
    return holdsOnlyDemo({
      hasPassword,
      list: async ({ limit }) => ({ items: items.slice(0, limit), next: undefined }),
    })
  }

  it('holds no one but users of the demo, some or all of them', async () => {
    expect(await holding(['anonymous'])).toBe(true)
    expect(await holding(['admin', 'alice', 'anonymous'])).toBe(true)
    expect(await holding([...passwords.keys(), 'anonymous'])).toBe(true)
  })

  it('is another one when it holds others, or users with passwords of their own', async () => {
    expect(await holding(['admin', 'anonymous', 'eve'])).toBe(false)
    expect(await holding([...passwords.keys(), 'anonymous', 'zoe'])).toBe(false)
    expect(await holding(['admin', 'anonymous'], changed)).toBe(false)
  })
})
