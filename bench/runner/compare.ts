/**
 * Comparisons in rounds. In each round every subject has a turn, so that other work of the machine affects all of them.
 */

/** The result of one turn. */
export interface Turn {
  readonly perSecond: number
  /** CPU time for one unit of work. Other work of the machine hardly changes it. */
  readonly cpu?: CpuTimes
  readonly p50Ms?: number
  readonly p99Ms?: number
}

/** CPU times in microseconds, by the process that used them. A process that took no part is left out. */
export interface CpuTimes {
  /** The measured server: all its threads. */
  readonly server?: number
  /** All processes of PostgreSQL together. */
  readonly postgres?: number
  readonly redis?: number
  /** The process that sends the load. */
  readonly load?: number
}

/** Something that is measured. */
export interface Subject {
  readonly name: string
  /** Works for about this time. Round 0 only warms up. */
  turn(seconds: number, round: number): Promise<Turn>
}

/** Subjects, and what each of them is compared with. */
export interface Comparison {
  readonly title: string
  readonly unit: string
  /** Floors and other subjects that all subjects are compared with; the first one is the main one. */
  readonly floors: readonly Subject[]
  readonly subjects: readonly Subject[]
}

/** The turns of a subject, one for each round. */
export interface Measured {
  readonly name: string
  readonly turns: readonly Turn[]
}

/** How long a comparison runs. */
export interface Rounds {
  readonly rounds: number
  /** The length of one turn. */
  readonly seconds: number
}

/** Is told before each round how many are done, and how many there are in all. */
export type OnRound = (done: number, all: number) => void

/** Runs a round to warm up, and then `rounds` rounds. Returns the turns of floors and subjects, in this order. */
export async function compare(
  { floors, subjects }: Comparison,
  { rounds, seconds }: Rounds,
  onRound: OnRound,
): Promise<Measured[]> {
  const all = [...floors, ...subjects]
  const turns = all.map((): Turn[] => [])
  for (let round = 0; round <= rounds; round += 1) {
    onRound(round, rounds + 1)
    for (const [index, subject] of all.entries()) {
      const turn = await subject.turn(seconds, round)
      if (round > 0) turns[index]?.push(turn)
    }
  }
  return all.map(({ name }, index) => ({ name, turns: turns[index] ?? [] }))
}
