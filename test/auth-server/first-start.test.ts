import { describe, expect, it } from 'vitest'
import { demoUserProblems, demoUsers } from '../../auth-server/first-start.ts'

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
