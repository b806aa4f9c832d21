/** The auth server's tables of principals, in virtual time, for the four statements of principal records. */
import { randomUUID } from 'node:crypto'
import type { PrincipalFacts } from '../../../../auth-server/principals/principal-record.ts'
import type { Database } from '../../../../shared/platform/database/database.ts'
import { maxChangesInMessage } from '../../../../shared/protocol/principal/change-feed.ts'
import { SimulatedLink } from './simulated-link.ts'
import type { VirtualTime } from './virtual-time.ts'

/** What a principal was from some change on. */
export interface Version {
  readonly facts: PrincipalFacts
  readonly committedAt: number
}

/** Principals with all that they ever were. Changes commit in the order of their numbers. */
export class SimulatedPrincipals {
  readonly #time: VirtualTime
  readonly #history = new Map<string, Version[]>()
  #counter = 0
  #instanceId = randomUUID()

  constructor(time: VirtualTime) {
    this.#time = time
  }

  get instanceId(): string {
    return this.#instanceId
  }

  /** Another database, with nobody in it, takes the place of this one. */
  replace(): void {
    this.#history.clear()
    this.#counter = 0
    this.#instanceId = randomUUID()
  }

  /** Creates the principal, or changes it; returns the number of the change. */
  change(username: string, change: (before: PrincipalFacts) => Partial<PrincipalFacts>): number {
    const versions = this.#history.get(username) ?? []
    const before = versions.at(-1)?.facts ?? newcomer(username)
    this.#counter += 1
    const facts = { ...before, ...change(before), version: this.#counter }
    this.#history.set(username, [...versions, { facts, committedAt: this.#time.monotonic() }])
    return this.#counter
  }

  /** All that the principal was, the present last; empty when there never was one. */
  versions(username: string): readonly Version[] {
    return this.#history.get(username) ?? []
  }

  /** What an auth server's statements find now. */
  answer(parameters: readonly unknown[]): object[] {
    const present = [...this.#history.values()].flatMap((versions) => versions.at(-1)?.facts ?? [])
    const [first, , reloads] = parameters
    const { instanceId } = this
    if (parameters.length === 0) return [{ instanceId, value: String(this.#counter) }]
    if (parameters.length === 1) {
      const changed = present.filter(({ version }) => version > Number(first)).sort((a, b) => a.version - b.version)
      const changes = changed.map(({ username, version }) => ({ username, version }))
      return [{ read: { instanceId, counter: this.#counter, changes } }]
    }
    if (parameters.length === 2)
      return [{ instanceId, facts: present.find(({ username }) => username === first) ?? null }]
    if (parameters.length !== 3) throw new Error('no statement of principal records has so many parameters')
    const names = JSON.parse(String(reloads)) as string[]
    const tail = present.filter(({ version }) => version > Number(first)).sort((a, b) => a.version - b.version)
    const reloaded = present.filter(({ username }) => names.includes(username))
    return [{ batch: { instanceId, counter: this.#counter, tail: tail.slice(0, maxChangesInMessage), reloaded } }]
  }
}

const newcomer = (username: string): PrincipalFacts => ({
  username,
  userId: `id-of-${username}`,
  enabled: true,
  roles: [],
  rights: [],
  generation: 0,
  throttleGeneration: 1,
  keptLogin: null,
  revokedIds: [],
  version: 0,
})

/** One auth server's way to the tables. */
export class SimulatedDatabase implements Pick<Database, 'query'> {
  readonly link: SimulatedLink
  readonly #principals: SimulatedPrincipals

  constructor(options: { time: VirtualTime; principals: SimulatedPrincipals; latencyMs: () => number }) {
    this.#principals = options.principals
    // As long as a frozen PostgreSQL is waited for.
    this.link = new SimulatedLink({ ...options, dependency: 'database', deadlineMs: 1_000 })
  }

  async query<Row extends object>(_text: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    const rows = await this.link.call(() => structuredClone(this.#principals.answer(parameters)))
    return rows as Row[]
  }

  /** A change in a transaction of its own. */
  change(username: string, change: (before: PrincipalFacts) => Partial<PrincipalFacts>): Promise<number> {
    return this.link.call(() => this.#principals.change(username, change))
  }
}
