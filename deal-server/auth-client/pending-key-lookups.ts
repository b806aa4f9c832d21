import { Unavailable } from '../../shared/platform/problems/errors.ts'

/** What came of a load of the keys. */
export interface LoadOutcome {
  /** Loads are numbered in the order in which they begin, from 1. */
  readonly load: number
  readonly hasFailed: boolean
  /** What is held now. */
  readonly holds: (kid: string) => boolean
}

/** Those who wait to hear whether a key is there. */
export interface KeyQuestions {
  /** How many wait. */
  count(): number
  /**
   * Waits for a load that brings the key, or began after `loadsBegun` others and does not.
   * @throws Unavailable when a load fails
   */
  ask(kid: string, loadsBegun: number): Promise<boolean>
  /** Tells those who can be told. One that began before the question says nothing: the key may have been published since. */
  settle(outcome: LoadOutcome): void
  /** Sends everybody away. */
  giveUp(): void
}

interface Question {
  readonly kid: string
  readonly loadsBegun: number
  readonly resolve: (isThere: boolean) => void
  readonly reject: (error: Unavailable) => void
}

/** Nobody asks yet. */
export function createKeyQuestions(): KeyQuestions {
  const open = new Set<Question>()
  const refuse = (question: Question) => {
    open.delete(question)
    question.reject(new Unavailable('auth-server'))
  }
  return {
    count: () => open.size,
    ask: (kid, loadsBegun) => new Promise((resolve, reject) => open.add({ kid, loadsBegun, resolve, reject })),
    settle: ({ load, hasFailed, holds }) => {
      for (const question of open) {
        const isThere = holds(question.kid)
        if (!isThere && hasFailed) refuse(question)
        else if (isThere || load > question.loadsBegun) {
          open.delete(question)
          question.resolve(isThere)
        }
      }
    },
    giveUp: () => {
      for (const question of open) refuse(question)
    },
  }
}
