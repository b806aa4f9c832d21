/** What an operator must do about a Redis that cannot be used as REDIS_URL names it. One sentence for each case. */

/** Calls with each sentence, once until another one or `wellAgain`. */
export type Advice = ReturnType<typeof createAdvice>

/** Passes sentences on to `onAdvice` without repeating them: the same error comes with every attempt to connect. */
export function createAdvice(onAdvice: (sentence: string) => void) {
  let last: string | undefined
  const give = (sentence: string): void => {
    if (sentence === last) return
    last = sentence
    onAdvice(sentence)
  }
  return {
    give,
    /** Gives the sentence about an error of Redis, if there is one. */
    giveFor: ({ message }: Error): void => {
      const [, sentence] = sentences.find(([pattern]) => pattern.test(message)) ?? []
      if (sentence !== undefined) give(sentence)
    },
    /** From now on the same sentence is given again. */
    wellAgain: (): void => {
      last = undefined
    },
  }
}

const sentences: readonly (readonly [pattern: RegExp, sentence: string])[] = [
  [
    /NOPERM|ACL failure in script|can't (?:run this command|access at least one of the (?:keys|channels))/,
    'the user in the address lacks a right: docs/operations/stores.md#redis has the line with all rights',
  ],
]

/** For an address that is a node of a Cluster. */
export const nodeOfCluster =
  'this is a node of a Redis Cluster, which is not used: name one Redis, or Sentinels by redis+sentinel://'

/** For an address that is a Sentinel's. */
export const isSentinel = 'this is a Sentinel: write redis+sentinel://host:port,host:port/MASTER'

/** For Sentinels that watch no master of this name. */
export const unknownMaster = (name: string): string =>
  `no Sentinel knows the master "${name}": correct the name behind the hosts, or run SENTINEL MONITOR ${name} there`

/** For Sentinels that want a login. */
export const sentinelLogin =
  'the Sentinels want a login: add ?sentinelPassword=PASSWORD, and &sentinelUsername=NAME if they have users'
