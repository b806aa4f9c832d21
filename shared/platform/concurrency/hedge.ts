interface HedgeOptions {
  /** The pause before each further attempt, in milliseconds. */
  readonly afterMs: number
  /** For one question. */
  readonly maxAttempts: number
  /** How many further attempts of all questions may be under way: a server that is slow gets little more to do. */
  readonly maxFurther: number
}

/** Asks with hedging. `attempt` sends the question; its signal ends it when another attempt was answered. */
export type Hedge = <Answer>(attempt: (signal: AbortSignal) => Promise<Answer>) => Promise<Answer>

/**
 * Creates a function that asks, and asks again beside it while no answer comes: behind a balancer, the first question
 * may have gone to a server that is frozen. The first answer counts. After a failure, no further attempt begins. Only
 * for questions that may be answered twice. It throws the last failure, when no attempt is under way any more.
 */
export function createHedge({ afterMs, maxAttempts, maxFurther }: HedgeOptions): Hedge {
  let further = 0
  return <Answer>(attempt: (signal: AbortSignal) => Promise<Answer>) => {
    const answered = new AbortController()
    let timer: NodeJS.Timeout | undefined
    let begun = 0
    let failed = 0
    const ask = async () => {
      begun += 1
      if (begun === maxAttempts) clearInterval(timer)
      return attempt(answered.signal)
    }
    const askAgain = async () => {
      further += 1
      try {
        return await ask()
      } finally {
        further -= 1
      }
    }
    const answer = new Promise<Answer>((resolve, reject) => {
      const fail = (error: unknown) => {
        clearInterval(timer)
        failed += 1
        if (failed === begun) reject(error)
      }
      ask().then(resolve, fail)
      timer = setInterval(() => {
        if (further < maxFurther) askAgain().then(resolve, fail)
      }, afterMs).unref()
    })
    return answer.finally(() => {
      clearInterval(timer)
      answered.abort()
    })
  }
}
