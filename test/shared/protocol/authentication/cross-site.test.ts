import { expect, it } from 'vitest'
import { trustedOrigins } from '../../../../shared/protocol/authentication/cross-site.ts'

const [auth, deal] = ['http://127.0.0.1:4000', 'http://127.0.0.1:4001']
const settings = { host: '127.0.0.1', publicOrigins: { auth, deal }, ports: [4000, 4001], corsOrigins: [] }

it('trusts pages of this machine by all its names where clients come from it alone', () => {
  const names = ['localhost', '127.0.0.1', '[::1]']
  const own = names.flatMap((name) =>
    [4000, 4001].flatMap((port) => [`http://${name}:${port}`, `https://${name}:${port}`]),
  )
  expect([...trustedOrigins(settings)].sort()).toEqual([...own].sort())
})

it.each([
  ['behind a proxy', { publicOrigins: { auth: 'https://auth.example', deal: 'https://deals.example' } }],
  ['with one server behind a proxy', { publicOrigins: { auth, deal: 'https://deals.example' } }],
  ['where other machines reach the listener', { host: '0.0.0.0' }],
])('trusts no page for being on loopback %s', (_where, changed) => {
  const changedSettings = { ...settings, ...changed }
  const expected = new Set(Object.values(changedSettings.publicOrigins))
  expect(trustedOrigins(changedSettings)).toEqual(expected)
})
