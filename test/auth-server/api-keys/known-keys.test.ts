import { expect, it, vi } from 'vitest'
import { createKnownKeys } from '../../../auth-server/api-keys/known-keys.ts'
import type { StoredSigningKey } from '../../../shared/protocol/authentication/signed-request/signing-key.ts'
import type { PrincipalRecord } from '../../../shared/protocol/principal/record.ts'

const id = '018f0000-0000-7000-8000-000000000001'
const owner = { username: 'erin', userId: 'u', version: 1 } as PrincipalRecord

const keyAt = (version: number, changes: Partial<StoredSigningKey> = {}): StoredSigningKey => ({
  id,
  kind: 'hmac',
  username: 'erin',
  userId: 'u',
  version,
  requireBodyHash: false,
  rights: null,
  expiresAt: null,
  secret: 'the secret',
  publicKeyPem: null,
  former: null,
  ...changes,
})

function open(first: StoredSigningKey | undefined) {
  let [now, record, stored] = [1_000, owner, first]
  const material = vi.fn(async () => stored)
  const clock = { now: () => now, monotonic: () => now }
  const keys = createKnownKeys({ material }, { principals: { get: () => record }, clock })
  return {
    keys,
    material,
    passUntil: (at: number) => {
      now = at
    },
    change: (version: number, key: StoredSigningKey | undefined) => {
      record = { ...owner, version }
      stored = key
    },
  }
}

it('reads a key once, while its owner does not change', async () => {
  const { keys, material } = open(keyAt(1))
  expect(keys.has(id)).toBe(false)
  for (let count = 0; count < 3; count += 1) expect(await keys.find(id)).toMatchObject({ secret: 'the secret' })
  expect(keys.has(id)).toBe(true)
  expect(material).toHaveBeenCalledTimes(1)
})

it('reads it again when its owner has changed, and knows it no more when it was revoked', async () => {
  const { keys, change } = open(keyAt(1))
  await keys.find(id)
  change(2, keyAt(2, { secret: 'the next one' }))
  expect(keys.has(id)).toBe(false)
  expect(await keys.find(id)).toMatchObject({ secret: 'the next one' })
  change(3, undefined)
  expect(keys.has(id)).toBe(false)
  expect(await keys.find(id)).toBeUndefined()
})

it('looks for an unknown key each time', async () => {
  const { keys, material, change } = open(undefined)
  expect(await keys.find(id)).toBeUndefined()
  change(1, keyAt(1))
  expect(await keys.find(id)).toMatchObject({ id })
  expect(material).toHaveBeenCalledTimes(2)
})

it('does not look for an id that no key can have', async () => {
  const { keys, material } = open(keyAt(1))
  for (const none of [id.toUpperCase(), 'keyhold', '']) expect(await keys.find(none)).toBeUndefined()
  expect(keys.has(undefined)).toBe(false)
  expect(material).not.toHaveBeenCalled()
})

it('knows by its clock when a key, and when the material before a rotation ends', async () => {
  const former = { secret: 'the former one', publicKeyPem: null, until: 2_000 }
  const { keys, passUntil } = open(keyAt(1, { expiresAt: 3_000, former }))
  expect((await keys.find(id))?.former).toMatchObject({ secret: 'the former one' })
  passUntil(2_000)
  expect((await keys.find(id))?.former).toBeNull()
  expect(await keys.find(id)).toMatchObject({ secret: 'the secret' })
  passUntil(3_000)
  expect(await keys.find(id)).toBeUndefined()
})
