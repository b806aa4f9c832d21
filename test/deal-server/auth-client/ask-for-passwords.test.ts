import { expect, it } from 'vitest'
import { askForPasswords } from '../../../deal-server/auth-client/ask-for-passwords.ts'
import { fakeSystems } from '../../support/fake-systems.ts'

const askAnAuthServerThatAnswers = (status: number, retryAfter: string) =>
  askForPasswords(
    fakeSystems({
      authClient: { ask: async () => ({ status, headers: new Headers({ 'retry-after': retryAfter }), body: {} }) },
    }),
  )({ username: 'alice', password: 'a password', clientAddress: '127.0.0.1' }, undefined)

it.each([503, 500])('a response %i of the auth server makes the auth server the missing dependency', async (status) => {
  const missing = { name: 'Unavailable', dependency: 'auth-server', retryAfterSeconds: 7 }
  await expect(askAnAuthServerThatAnswers(status, '7')).rejects.toMatchObject(missing)
})

it('too many attempts at the auth server are refused here too', async () => {
  const refused = { code: 'too-many-attempts', retryAfterSeconds: 9 }
  await expect(askAnAuthServerThatAnswers(429, '9')).rejects.toMatchObject(refused)
})
