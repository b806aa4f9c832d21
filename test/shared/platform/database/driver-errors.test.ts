import { expect, it } from 'vitest'
import { translateDriverError } from '../../../../shared/platform/database/driver-errors.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'

const answer = (code: string, message: string) => Object.assign(new Error(message), { code, severity: 'ERROR' })

it('takes the words of a pooler for those of a server: it is away, and one line says what to set', () => {
  const words = (message: string) => Object.assign(new Error(message), { code: '08P01', severity_local: 'FATAL' })
  const away = translateDriverError(words('server login has been failing, try again later'))
  expect(away).toBeInstanceOf(Unavailable)
  const refused = translateDriverError(words('unsupported startup parameter: jit'))
  expect(String(refused.cause)).toMatch(/: a pooler answers; add pgbouncer=true to the parameters of the URL$/)
})

it('names the object of a missing permission, and never quotes a value', () => {
  const lacking = translateDriverError(answer('42501', 'permission denied for database auth'))
  expect(lacking.message).toBe('permission denied for database auth (42501)')
  const quoting = translateDriverError(answer('42804', 'the value "hidden" has another type'))
  expect(quoting.message).toBe('PostgreSQL refused the statement (42804)')
})
