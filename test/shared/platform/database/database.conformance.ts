/** What every implementation of the database port must do. */
import { inspect } from 'node:util'
import { eq, sql } from 'drizzle-orm'
import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DatabaseError, violates } from '../../../../shared/platform/database/database.ts'
import { ProblemError, Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { databaseOfSuite, type OpenOwnDatabase } from '../../../support/stores/own-database.ts'

export interface Conformance {
  readonly concurrentSessions: boolean
  readonly open: OpenOwnDatabase
}

const entry = pgTable('entry', { name: text().primaryKey(), amount: integer().notNull() })
const SECRET = 'tr0ub4dor-value'

/** Runs the suite over one implementation. */
export const describeDatabase = ({ concurrentSessions, open }: Conformance): void => {
  const { database, openAnother } = databaseOfSuite(open)
  const itWithSessions = it.skipIf(!concurrentSessions)

  beforeAll(async () => {
    await database.write('create table entry (name text primary key, amount integer not null check (amount >= 0))')
  })

  beforeEach(async () => {
    await database.write('delete from entry')
  })

  const names = async (): Promise<string[]> => {
    const rows = await database.query<{ name: string }>('select name from entry order by name')
    return rows.map((row) => row.name)
  }

  const failureOf = async (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => {
        throw new Error('it was expected to reject')
      },
      (error: unknown) => error,
    )

  const expectNoSecret = (error: unknown): void => {
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(SECRET)
  }

  it('knows whether it has concurrent sessions', () => {
    expect(database.concurrentSessions).toBe(concurrentSessions)
  })

  describe.each(['query', 'write'] as const)('%s', (way) => {
    it('gives columns of type json and jsonb parsed', async () => {
      const rows = await database[way](
        `select '{"a":[1]}'::json as json, '{"b":null}'::jsonb as jsonb, null::jsonb as none`,
      )
      expect(rows).toEqual([{ json: { a: [1] }, jsonb: { b: null }, none: null }])
    })

    it('takes text, numbers, booleans and null for columns of any type', async () => {
      const rows = await database[way](
        `select json_build_object('text', $1::text, 'number', $2::numeric, 'yes', $3::boolean, 'no', $4::boolean, 'none', $5::int,
             'composite', $6::text::jsonb, 'direct', $7::jsonb, 'digits', $8::text, 'time', $9::timestamptz) as given`,
        ['it’s', 1.5, true, false, null, '{"a":1}', '[2]', 42, '2030-01-02T03:04:05.123456Z'],
      )
      const composite = { composite: { a: 1 }, direct: [2], digits: '42', time: '2030-01-02T03:04:05.123456+00:00' }
      expect(rows).toEqual([{ given: { text: 'it’s', number: 1.5, yes: true, no: false, none: null, ...composite } }])
    })

    it('gives each of many concurrent callers the rows of its own statement', async () => {
      const numbers = Array.from({ length: 500 }, (_, index) => index)
      const rows = await Promise.all(
        numbers.map((number) => database[way]<{ n: number }>('select $1::int as n', [number])),
      )
      expect(rows.map(([row]) => row?.n)).toEqual(numbers)
    })

    it('does not disturb the statements of other callers when one is refused', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 60 }, (_, index) =>
          database[way]('select (10 / $1::int)::text as n', [index % 3 === 0 ? 0 : 5]),
        ),
      )
      expect(outcomes.map(({ status }) => status)).toEqual(
        outcomes.map((_, index) => (index % 3 === 0 ? 'rejected' : 'fulfilled')),
      )
    })

    it('does not disturb the statements of other callers when a parameter is invalid', async () => {
      const good = Array.from({ length: 20 }, () => database[way]('select $1::text as n', ['x']))
      const bad = database[way]('select $1::text as n', [undefined as unknown as null])
      const more = Array.from({ length: 20 }, () => database[way]('select $1::text as n', ['x']))
      expect(await failureOf(bad)).toBeInstanceOf(TypeError)
      expect(await Promise.all([...good, ...more])).toEqual(Array(40).fill([{ n: 'x' }]))
    })

    it('works in UTC', async () => {
      const [row] = await database[way]<{ zone: string }>("select current_setting('TimeZone') as zone")
      expect(row?.zone).toBe('UTC')
    })

    it('rejects with SQLSTATE and constraint, and without parameters', async () => {
      const insert = () => database[way]('insert into entry values ($1, 1)', [SECRET])
      await insert()
      const error = await failureOf(insert())
      expect(error).toBeInstanceOf(DatabaseError)
      expect(error).toMatchObject({ sqlState: '23505', constraint: 'entry_pkey' })
      expect([violates(error, 'entry_pkey'), violates(error, 'entry_amount_check')]).toEqual([true, false])
      expectNoSecret(error)
    })

    it.each([
      ['22P02', 'select $1::int as n'],
      ['22007', 'select $1::timestamptz as n'],
      ['42P01', 'select $1::text::regclass as n'],
      ['42601', "select to_tsquery('simple', $1 || ' ! !') as n"],
      ['23514', 'insert into entry values ($1, -1)'],
      ['P0001', "do $$ begin raise exception 'told: tr0ub4dor-value'; end $$"],
    ])('keeps the value out of an error with SQLSTATE %s', async (sqlState, statement) => {
      const error = await failureOf(database[way](statement, statement.includes('$1') ? [SECRET] : []))
      expect(error).toMatchObject({ name: 'DatabaseError', sqlState })
      expectNoSecret(error)
    })

    it('names the error in the text of a statement', async () => {
      const error = await failureOf(database[way]('select no_such_column from entry'))
      expect(error).toMatchObject({ sqlState: '42703', message: expect.stringContaining('no_such_column') })
    })
  })

  it.each(['40001', '40P01'])('runs a write again after SQLSTATE %s, three times at most', async (sqlState) => {
    // What a sequence gave is gone, whatever becomes of the statement.
    await database.query('create sequence if not exists runs')
    await database.query(`create or replace function run_of(until bigint) returns text language plpgsql as $$
      declare run bigint := nextval('runs');
      begin
        if run < until then raise exception 'conflict' using errcode = '${sqlState}'; end if;
        return run;
      end $$`)
    const write = async (run: number) => {
      await database.query("select setval('runs', 1, false)::text")
      return database.write('select run_of($1::text::bigint) as run', [run])
    }
    expect(await write(4)).toEqual([{ run: '4' }])
    expect(await failureOf(write(5))).toMatchObject({ name: 'Unavailable', sqlState })
  })

  describe('drizzle', () => {
    it('reads and writes tables', async () => {
      const written = await database.drizzle.insert(entry).values({ name: 'a', amount: 3 }).returning()
      expect(written).toEqual([{ name: 'a', amount: 3 }])
      expect(await database.drizzle.select().from(entry).where(eq(entry.name, 'a'))).toEqual(written)
    })

    it('rejects with the same errors as query, and no parameter in them', async () => {
      const insert = async () => database.drizzle.insert(entry).values({ name: SECRET, amount: 1 })
      await insert()
      const error = await failureOf(insert())
      expect(violates(error, 'entry_pkey')).toBe(true)
      expectNoSecret(error)
    })

    it('rejects with these errors in transactions too', async () => {
      const error = await failureOf(
        database.transaction((transaction) => transaction.execute(sql`select ${SECRET}::int`)),
      )
      expect(error).toMatchObject({ name: 'DatabaseError', sqlState: '22P02' })
      expectNoSecret(error)
    })
  })

  describe('transaction', () => {
    it('commits what the callback did and gives its result', async () => {
      const result = await database.transaction(async (transaction) => {
        await transaction.insert(entry).values({ name: 'a', amount: 1 })
        await transaction.insert(entry).values({ name: 'b', amount: 1 })
        return 'done'
      })
      expect([result, await names()]).toEqual(['done', ['a', 'b']])
    })

    it.each([
      ['a refusal', new ProblemError('not-found', 'There is no such thing.')],
      ['another dependency that is away', new Unavailable('cache')],
      ['an error of a socket that is not the database’s', Object.assign(new Error('x'), { code: 'ECONNREFUSED' })],
      ['something that is no error', 'a text'],
    ])('rolls back when the callback throws, and throws %s unchanged', async (_, thrown) => {
      const outcome = database.transaction(async (transaction) => {
        await transaction.insert(entry).values({ name: 'a', amount: 1 })
        throw thrown
      })
      expect(await failureOf(outcome)).toBe(thrown)
      expect(await names()).toEqual([])
    })

    it('rejects when a statement was refused, even if the callback ignores the error', async () => {
      const outcome = database.transaction(async (transaction) => {
        await transaction.insert(entry).values({ name: 'a', amount: 1 })
        await transaction
          .insert(entry)
          .values({ name: 'b', amount: -1 })
          .catch(() => {})
      })
      expect(await failureOf(outcome)).toMatchObject({ sqlState: '23514', constraint: 'entry_amount_check' })
      expect(await names()).toEqual([])
    })

    it('reports what is refused at the commit', async () => {
      await database.query('create table if not exists late (n int unique deferrable initially deferred)')
      const error = await failureOf(
        database.transaction((transaction) => transaction.execute(sql`insert into late values (1), (1)`)),
      )
      expect(violates(error, 'late_n_key')).toBe(true)
      await database.query('select 1')
    })

    it.each(['40001', '40P01'])('runs the callback again after SQLSTATE %s, three times at most', async (sqlState) => {
      const raise = sql.raw(`do $$ begin raise exception 'conflict' using errcode = '${sqlState}'; end $$`)
      const conflicting = (conflicts: number) => {
        let runs = 0
        return database.transaction(async (transaction) => {
          runs++
          await transaction.insert(entry).values({ name: `${conflicts} conflicts, run ${runs}`, amount: 1 })
          if (runs <= conflicts) await transaction.execute(raise)
          return runs
        })
      }
      expect(await conflicting(3)).toBe(4)
      expect(await names()).toEqual(['3 conflicts, run 4'])
      expect(await failureOf(conflicting(4))).toMatchObject({ name: 'Unavailable', sqlState })
      expect(await names()).toEqual(['3 conflicts, run 4'])
    })

    it('does not repeat a transaction that was refused for another reason', async () => {
      let runs = 0
      await failureOf(
        database.transaction(async (transaction) => {
          runs++
          await transaction.insert(entry).values({ name: 'a', amount: -1 })
        }),
      )
      expect(runs).toBe(1)
    })

    it('lets concurrent callers all have their turn', async () => {
      await database.query("insert into entry values ('sum', 0)")
      await Promise.all(
        Array.from({ length: 40 }, () =>
          database.transaction((transaction) =>
            transaction
              .update(entry)
              .set({ amount: sql`${entry.amount} + 1` })
              .where(eq(entry.name, 'sum')),
          ),
        ),
      )
      expect(await database.drizzle.select().from(entry)).toEqual([{ name: 'sum', amount: 40 }])
    })

    itWithSessions('hides its changes from others until it is committed', async () => {
      await database.transaction(async (transaction) => {
        await transaction.insert(entry).values({ name: 'a', amount: 1 })
        expect(await names()).toEqual([])
      })
      expect(await names()).toEqual(['a'])
    })

    itWithSessions('brings both of two deadlocked transactions to their end', async () => {
      await database.query("insert into entry values ('a', 0), ('b', 0)")
      let firstRuns = 0
      const bothHoldOne = countdown(2)
      const inOrder = (first: string, second: string) =>
        database.transaction(async (transaction) => {
          const raise = (name: string) =>
            transaction
              .update(entry)
              .set({ amount: sql`${entry.amount} + 1` })
              .where(eq(entry.name, name))
          await raise(first)
          if (firstRuns++ < 2) await bothHoldOne()
          await raise(second)
        })
      await Promise.all([inOrder('a', 'b'), inOrder('b', 'a')])
      expect(firstRuns).toBeGreaterThan(2)
      expect(await database.query('select amount from entry')).toEqual([{ amount: 2 }, { amount: 2 }])
    })
  })

  describe('exclusively', () => {
    it('never runs two works of one name at the same time, from any database object', async () => {
      const other = openAnother()
      let running = 0
      const work = async () => {
        expect(++running).toBe(1)
        await new Promise((resolve) => setTimeout(resolve, 30))
        running--
      }
      await Promise.all([database, other, database, other].map((each) => each.exclusively('a work', work)))
    })

    it('undoes all of a work that throws', async () => {
      const outcome = database.exclusively('a work', async (drizzle) => {
        await drizzle.insert(entry).values({ name: 'a', amount: 1 })
        throw new Error('no')
      })
      expect(await failureOf(outcome)).toMatchObject({ message: 'no' })
      expect(await names()).toEqual([])
    })

    it('runs the next work after one has thrown, and throws its error', async () => {
      const thrown = new ProblemError('not-found', 'There is no such thing.')
      const failing = database.exclusively('a work', () => Promise.reject(thrown))
      const next = database.exclusively('a work', async (drizzle) => drizzle.select().from(entry))
      expect(await failureOf(failing)).toBe(thrown)
      expect(await next).toEqual([])
    })

    it('does not run work that would have to wait, if asked not to wait', async () => {
      const other = openAnother()
      const bothIn = countdown(2)
      const over = countdown(2)
      const first = database.exclusivelyIfFree('a work', async (drizzle) => {
        expect(await drizzle.select().from(entry)).toEqual([])
        await bothIn()
        await over()
      })
      await bothIn()
      const never = () => Promise.reject(new Error('it ran'))
      expect(await other.exclusivelyIfFree('a work', never)).toBe(false)
      expect(await database.exclusivelyIfFree('a work', never)).toBe(false)
      expect(await other.exclusivelyIfFree('another work', async () => {})).toBe(true)
      const waiting = other.exclusively('a work', async () => 'waited')
      await over()
      expect(await first).toBe(true)
      expect(await waiting).toBe('waited')
      expect(await failureOf(other.exclusivelyIfFree('a work', never))).toMatchObject({ message: 'it ran' })
      expect(await other.exclusivelyIfFree('a work', async () => {})).toBe(true)
    })

    itWithSessions('gives up when the name stays taken', async () => {
      const bothIn = countdown(2)
      const over = countdown(2)
      const first = database.exclusively('a work', async () => {
        await bothIn()
        await over()
      })
      await bothIn()
      const second = database.exclusively('a work', async () => {}, { waitTimeoutMs: 300 })
      expect(await failureOf(second)).toBeInstanceOf(Unavailable)
      await over()
      await first
    })
  })

  describe('ping and close', () => {
    it('answers a ping', async () => {
      await expect(database.ping()).resolves.toBeUndefined()
    })

    it('refuses everything after close, and does not disturb other database objects', async () => {
      const other = openAnother()
      const underWay = other.query('select 1 as n')
      await other.close()
      expect(await underWay).toEqual([{ n: 1 }])
      expect(await failureOf(other.query('select 1'))).toBeInstanceOf(Unavailable)
      expect(await failureOf(other.ping())).toBeInstanceOf(Unavailable)
      expect(await failureOf(other.transaction(async () => {}))).toBeInstanceOf(Unavailable)
      await database.ping()
    })
  })
}

/** A barrier: resolves for everybody once `parties` have come. */
const countdown = (parties: number): (() => Promise<void>) => {
  let open = (): void => {}
  let missing = parties
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return () => {
    if (--missing === 0) open()
    return opened
  }
}
