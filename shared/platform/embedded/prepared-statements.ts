import { type PGlite, parse, protocol } from '@electric-sql/pglite'
import { sqlStateOf } from '../database/driver-errors.ts'

const { serialize } = protocol

/** A statement that the engine knows by name. */
interface Prepared {
  readonly name: string
  /** What the engine says of the rows to come. */
  readonly description: Awaited<ReturnType<PGlite['execProtocolStream']>>
}

/** Beyond these, the one that was used least lately is forgotten. */
const maxStatements = 500

/** Runs after which all are planned again: a plan that was made for a small table may be bad for a large one. */
const runsOfPlans = 1_000

/** A migration has changed the columns of a statement that was prepared before it. */
const isOutdated = (error: unknown): boolean => sqlStateOf(error) === '0A000'

/**
 * The statements that an engine has parsed and planned, to be used again, as postgres.js has it of each session.
 * Without this, more than half of the engine's time goes into parsing and planning the same statements.
 */
export class PreparedStatements {
  readonly #prepared = new Map<string, Prepared>()
  #serial = 0
  #runs = 0

  /**
   * Runs a statement whose parameters are texts. The caller sees to it that no transaction is under way. Rejects with
   * the errors of the engine.
   */
  run<Row extends object>(engine: PGlite, text: string, values: (string | null)[]): Promise<Row[]> {
    return engine.runExclusive(async () => {
      try {
        return await this.#run<Row>(engine, text, values)
      } catch (error) {
        if (!isOutdated(error) || !this.#prepared.has(text)) throw error
        await this.#forget(engine, text)
        return this.#run<Row>(engine, text, values)
      }
    })
  }

  async #run<Row extends object>(engine: PGlite, text: string, values: (string | null)[]): Promise<Row[]> {
    await this.#planAgain(engine)
    const { name, description } = this.#prepared.get(text) ?? (await this.#prepare(engine, text))
    // The one that was used last is the last one.
    this.#prepared.delete(text)
    this.#prepared.set(text, { name, description })
    const sent = [serialize.bind({ statement: name, values }), serialize.execute({}), serialize.sync()]
    const answered = await engine.execProtocolStream(Buffer.concat(sent), {})
    const [result] = parse.parseResults([...description, ...answered], engine.parsers)
    return (result?.rows ?? []) as Row[]
  }

  async #prepare(engine: PGlite, text: string): Promise<Prepared> {
    const [oldest] = this.#prepared.keys()
    if (oldest !== undefined && this.#prepared.size >= maxStatements) await this.#forget(engine, oldest)
    const name = `keyhold_${++this.#serial}`
    const sent = [serialize.parse({ name, text }), serialize.describe({ type: 'S', name }), serialize.sync()]
    const answered = await engine.execProtocolStream(Buffer.concat(sent), {})
    return { name, description: answered.filter((message) => message.name === 'rowDescription') }
  }

  async #forget(engine: PGlite, text: string): Promise<void> {
    const name = this.#prepared.get(text)?.name ?? ''
    this.#prepared.delete(text)
    await engine.execProtocolStream(Buffer.concat([serialize.close({ type: 'S', name }), serialize.sync()]), {})
  }

  async #planAgain(engine: PGlite): Promise<void> {
    if (++this.#runs % runsOfPlans !== 0) return
    await engine.execProtocolStream(serialize.query('discard plans'), {})
  }
}
