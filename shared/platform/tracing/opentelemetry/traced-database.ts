/** Spans of statements and transactions, by the semantic conventions for database clients, without SQL and values. */
import { SpanKind } from '@opentelemetry/api'
import type { Database, Drizzle } from '../../database/database.ts'
import { drizzleAround } from '../../database/drizzle-over.ts'
import type { SpanStart, Spans } from './spans.ts'

const attributes = { 'db.system.name': 'postgresql' }

/** A statement, or several that leave together. The conventions name a span after the system if nothing is nearer. */
const statement: SpanStart = { name: 'postgresql', kind: SpanKind.CLIENT, attributes }

const transaction: SpanStart = { name: 'transaction', kind: SpanKind.CLIENT, attributes }

/** A database with a span for each statement of a request. */
export function traceDatabase(database: Database, spans: Spans): Database {
  const traced = (drizzle: Drizzle) => drizzleAround(drizzle, (run) => spans.within(statement, run))
  return {
    drizzle: traced(database.drizzle),
    concurrentSessions: database.concurrentSessions,
    query: (text, parameters) => spans.within(statement, () => database.query(text, parameters)),
    queryAll: (statements) => spans.within(statement, () => database.queryAll(statements)),
    write: (text, parameters) => spans.within(statement, () => database.write(text, parameters)),
    readWithin: (sql, timeoutMs) => spans.within(statement, () => database.readWithin(sql, timeoutMs)),
    transaction: (work) => spans.within(transaction, () => database.transaction((drizzle) => work(traced(drizzle)))),
    exclusively: (name, work, options) => database.exclusively(name, work, options),
    exclusivelyIfFree: (name, work) => database.exclusivelyIfFree(name, work),
    checkWrites: () => database.checkWrites(),
    ping: () => database.ping(),
    requireSuitable: () => database.requireSuitable(),
    close: () => database.close(),
  }
}
