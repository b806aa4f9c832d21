import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { KeyEntry, KeyUse } from '../../../../auth-server/key-ring/keyring-file.ts'
import type { Step } from '../../../../auth-server/key-ring/life-cycle.ts'
import { compiled } from '../compiled.ts'

/** What an operator is told to do. */
export type Order =
  | { readonly do: 'rotate' }
  | { readonly do: 'generate'; readonly use: KeyUse }
  | { readonly do: 'promote' | 'revoke'; readonly kid: string }

/**
 * Whoever tends the key ring, in a process of its own as `npm run ops` is: making RSA keys would stop the servers of
 * this one.
 */
export interface Operator {
  /** Does every step that is due. */
  rotate(): Promise<readonly Step[]>
  generate(use: KeyUse): Promise<KeyEntry>
  /** Without waiting for the time of publication. */
  promote(kid: string): Promise<void>
  revoke(kid: string): Promise<void>
  end(): Promise<void>
}

export interface OperatorOptions {
  /** KEYS_DIR. */
  readonly directory: string
  /**
   * How many times as fast as the servers' the operator's clock runs: at 300, ten minutes of publication are two
   * seconds. The times below are the servers'.
   */
  readonly speed: number
  readonly tokenLifeMs: number
  /** Keys older than this are replaced. */
  readonly maxAgeMs: number
}

/** Starts the process; orders wait for each other. */
export function startOperator({ directory, speed, tokenLifeMs, maxAgeMs }: OperatorOptions): Operator {
  const file = compiled('test/support/processes/operators/operator-process.ts')
  const child = fork(file, [directory, speed, tokenLifeMs, maxAgeMs].map(String), { execArgv: [] })
  let last: Promise<unknown> = Promise.resolve()
  const order = <Result>(next: Order): Promise<Result> => {
    const carriedOut = last.then(() => ask<Result>(child, next))
    last = carriedOut.catch(() => undefined)
    return carriedOut
  }
  return {
    rotate: async () => (await order<{ done: readonly Step[] }>({ do: 'rotate' })).done,
    generate: (use) => order({ do: 'generate', use }),
    promote: (kid) => order({ do: 'promote', kid }),
    revoke: (kid) => order({ do: 'revoke', kid }),
    end: async () => {
      await last
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    },
  }
}

async function ask<Result>(child: ChildProcess, order: Order): Promise<Result> {
  const over = new AbortController()
  const ended = once(child, 'exit', over).then(([code]) => [{ result: undefined, error: `it ended with ${code}` }])
  const answered = once(child, 'message', over)
  child.send(order)
  const [{ result, error }] = (await Promise.race([answered, ended]).finally(() => over.abort())) as [
    { result: Result; error?: string },
  ]
  if (error !== undefined) throw new Error(`the operator could not ${order.do}: ${error}`)
  return result
}
