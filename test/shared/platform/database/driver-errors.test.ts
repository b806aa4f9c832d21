import { expect, it } from 'vitest'
import { Conflicted, DatabaseError } from '../../../../shared/platform/database/database.ts'
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

it.each([
  ['XX000', 'failure on connection marked as essential: 10.0.0.1:5432'],
  ['XX000', 'server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally'],
  ['XX000', 'connection not open'],
  ['XX000', 'could not receive data from server: Broken pipe'],
  ['XX000', 'SSL SYSCALL error: EOF detected'],
  ['XX000', 'could not commit transaction for shard 102009 on at least one active node'],
  ['XX000', "failed to prepare transaction 'citus_0_1' on host 10.0.0.1:5432"],
  ['XX000', 'execution cannot recover from multiple connection failures. Last node failed 10.0.0.1:5432'],
  ['XX000', 'no active placements were found for shard 102009'],
  ['XX000', 'failed to assign 1 task(s) to worker nodes'],
  ['XX000', 'node group 3 does not have a primary node'],
  ['XX000', 'cannot connect to 10.0.0.1:5432 to fetch intermediate results'],
  ['08006', 'connection to the remote node keyhold@10.0.0.1:5432 failed with the following error: Connection refused'],
  ['53300', 'sorry, too many clients already'],
  ['57P01', 'terminating connection due to administrator command'],
  ['57P02', 'terminating connection because of crash of another server process'],
  ['57P03', 'the database system is starting up'],
  ['25006', 'cannot execute INSERT in a read-only transaction'],
  ['58030', 'failed to COPY to shard 0 on 10.0.0.1:5432'],
])('takes %s, "%s", of a node of a cluster for an outage, and logs it', (code, message) => {
  const away = translateDriverError(answer(code, message))
  expect(away).toBeInstanceOf(Unavailable)
  expect(away.cause).toEqual(new Error(`${code} ${message}`))
})

it.each(['40001', '40P01', '55P03'])('takes %s for a conflict, which is an outage of a moment', (code) => {
  const conflict = translateDriverError(answer(code, 'canceled'))
  expect(conflict).toBeInstanceOf(Conflicted)
  expect(conflict).toBeInstanceOf(Unavailable)
  expect(conflict).toMatchObject({ sqlState: code, retryAfterSeconds: 1 })
})

it.each(['cache lookup failed for relation 1', 'tuple concurrently updated', 'unrecognized node type: 12'])(
  'leaves other internal errors what they are: %s',
  (message) => {
    expect(translateDriverError(answer('XX000', message))).toBeInstanceOf(DatabaseError)
  },
)
