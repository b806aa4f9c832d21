import { expect, it } from 'vitest'
import { identityHeaders } from '../../../auth-server/http/endpoints/forward-auth/identity-headers.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'

const callerWith = (rights: readonly string[]) =>
  ({ username: 'carol', userId: '1', scheme: 'bearer', rights: new Set(rights) }) as unknown as Caller

it('name the caller, the demanded rights first', () => {
  expect(identityHeaders(callerWith(['a.read', 'b.read', 'c.read']), ['b.read'])).toEqual({
    'keyhold-user': 'carol',
    'keyhold-user-id': '1',
    'keyhold-scheme': 'bearer',
    'keyhold-rights': 'b.read a.read c.read',
  })
  expect(identityHeaders(callerWith([]), [])).toMatchObject({ 'keyhold-rights': '' })
})

it('bound 10,000 rights, whole names alone, and count the others', () => {
  const rights = Array.from({ length: 10_000 }, (_, index) => `thing-${index}.approve`)
  const fields = identityHeaders(callerWith(rights), ['thing-9999.approve'])
  const shown = fields['keyhold-rights']?.split(' ') ?? []
  expect(fields['keyhold-rights']?.length).toBeLessThanOrEqual(4_096)
  expect(shown[0]).toBe('thing-9999.approve')
  expect(shown.every((right) => rights.includes(right))).toBe(true)
  expect(Number(fields['keyhold-rights-omitted'])).toBe(10_000 - shown.length)
  expect(shown.length).toBeGreaterThan(150)
})
