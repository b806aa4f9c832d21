import { expect, it } from 'vitest'
import { translateDriverError } from '../../../../shared/platform/database/driver-errors.ts'

const answer = (code: string, message: string) => Object.assign(new Error(message), { code, severity: 'ERROR' })

it('names the object of a missing permission, and never quotes a value', () => {
  const lacking = translateDriverError(answer('42501', 'permission denied for database auth'))
  expect(lacking.message).toBe('permission denied for database auth (42501)')
  const quoting = translateDriverError(answer('42804', 'the value "hidden" has another type'))
  expect(quoting.message).toBe('PostgreSQL refused the statement (42804)')
})
