import { expect, it } from 'vitest'
import { warnOfWays } from '../../../../shared/server/settings/warn-of-ways.ts'

/** The settings that are warned of. */
const warned = (database: string | undefined, redisUrl: string | undefined): string[] => {
  const lines: string[] = []
  const databases = { AUTH_DATABASE_URL: database }
  warnOfWays({ warn: (line: string) => void lines.push(line) } as never, { databases, redisUrl })
  for (const line of lines) expect(line).not.toMatch(/s3cret|db\.example/)
  return lines.map((line) => line.split(':')[0] ?? '')
}

const credentials = 'keyhold:s3cret'

it.each([
  [undefined, undefined],
  [`postgres://${credentials}@127.0.0.1/auth`, `redis://${credentials}@localhost:6379`],
  [`postgres://${credentials}@[::1]/auth`, 'redis://[::1]'],
  [`postgres://${credentials}@%2Fvar%2Frun%2Fpostgresql/auth`, undefined],
  [`postgres://${credentials}@db.example/auth?sslmode=verify-full`, `rediss://${credentials}@db.example`],
  [undefined, `rediss+sentinel://${credentials}@db.example,db.example:7001/m`],
])('says nothing of a database and a Redis on this machine, or over verified TLS: %s %s', (database, redis) => {
  expect(warned(database, redis)).toEqual([])
})

it.each(['', '?sslmode=disable', '?sslmode=prefer', '?sslmode=require', '?sslmode=verify-ca'])(
  'warns of a database and a Redis elsewhere, without their names or passwords: %s',
  (mode) => {
    const database = `postgres://${credentials}@db.example/auth${mode}`
    expect(warned(database, `redis://${credentials}@db.example`)).toEqual(['AUTH_DATABASE_URL', 'REDIS_URL'])
    expect(warned(undefined, 'redis+sentinel://127.0.0.1:7000,db.example:7001/m')).toEqual(['REDIS_URL'])
  },
)

it('names the parameters of a database that have no effect, and never their values', () => {
  const database = `postgres://${credentials}@127.0.0.1/auth?connection_limit=s3cret&application_name=x&pool_timeout=1`
  expect(warned(database, undefined)).toEqual(['AUTH_DATABASE_URL'])
  expect(warned(`postgres://${credentials}@db.example/auth?schema=public`, undefined)).toHaveLength(2)
})
