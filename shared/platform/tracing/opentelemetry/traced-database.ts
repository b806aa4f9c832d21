/** Spans of statements and transactions, by the semantic conventions for database clients. They have no parameter. */
import { SpanKind } from '@opentelemetry/api'
import { createMemo } from '../../cache/memo.ts'
import type { Database, Drizzle, Statement } from '../../database/database.ts'
import { sessionOf } from '../../database/drizzle-internals.ts'
import type { SpanStart, Spans } from './spans.ts'
import { nameOfStatement } from './statement-name.ts'

/** A database with a span for each statement of a request. Changes the query builder of `database` itself. */
export function traceDatabase(database: Database, spans: Spans): Database {
  const traced = new WeakSet<object>()
  const statement = <Result>(text: string, run: () => Promise<Result>): Promise<Result> =>
    spans.within(() => startOf(text), run)
  const traceDrizzle = (drizzle: Drizzle): void => {
    const session = sessionOf(drizzle)
    if (traced.has(session)) return
    traced.add(session)
    const prepareQuery = session.prepareQuery.bind(session)
    session.prepareQuery = (...parameters) => {
      const prepared = prepareQuery(...parameters)
      const execute = prepared.execute.bind(prepared)
      prepared.execute = (placeholders) => statement(parameters[0].sql, () => execute(placeholders))
      return prepared as never
    }
  }
  traceDrizzle(database.drizzle)
  return {
    drizzle: database.drizzle,
    concurrentSessions: database.concurrentSessions,
    query: (text, parameters) => statement(text, () => database.query(text, parameters)),
    queryAll: (statements) =>
      spans.within(
        () => startOfAll(statements),
        () => database.queryAll(statements),
      ),
    write: (text, parameters) => statement(text, () => database.write(text, parameters)),
    readWithin: (sql, timeoutMs) => database.readWithin(sql, timeoutMs),
    transaction: (work) =>
      spans.within(
        () => transactionStart,
        () =>
          database.transaction((transaction) => {
            traceDrizzle(transaction)
            return work(transaction)
          }),
      ),
    exclusively: (name, work, options) => database.exclusively(name, work, options),
    exclusivelyIfFree: (name, work) => database.exclusivelyIfFree(name, work),
    checkWrites: () => database.checkWrites(),
    ping: () => database.ping(),
    requireSuitable: () => database.requireSuitable(),
    close: () => database.close(),
  }
}

/** Most statements are few and long. */
const starts = createMemo<SpanStart>({ maxEntries: 500, maxBytes: 1024 * 1024 })

const client = { kind: SpanKind.CLIENT, attributes: { 'db.system.name': 'postgresql' } } as const

const transactionStart: SpanStart = { ...client, name: 'transaction' }

/** Several statements are a batch. */
function startOfAll(statements: readonly (Statement | undefined)[]): SpanStart {
  const texts = statements.flatMap((statement) => statement?.[0] ?? [])
  const [text, another] = texts
  if (text !== undefined && another === undefined) return startOf(text)
  const attributes = { ...client.attributes, 'db.operation.batch.size': texts.length }
  return { name: 'BATCH', kind: SpanKind.CLIENT, attributes }
}

const startOf = (text: string): SpanStart => starts.get(text, describe)

function describe(text: string): SpanStart {
  const { operation, table, procedure } = nameOfStatement(text)
  const target = procedure ?? table
  return {
    name: target === undefined ? operation : `${operation} ${target}`,
    kind: SpanKind.CLIENT,
    attributes: {
      ...client.attributes,
      'db.operation.name': operation,
      ...(table === undefined ? {} : { 'db.collection.name': table }),
      ...(procedure === undefined ? {} : { 'db.stored_procedure.name': procedure }),
    },
  }
}
