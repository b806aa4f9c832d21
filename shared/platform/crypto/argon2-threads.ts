/**
 * Argon2id, and the hashes of other systems, in threads of their own. In libuv's thread pool, hashes and the signatures
 * of tokens would wait for each other. On Linux the threads have a lower priority than the rest of the process, so that
 * other requests go on beside logins.
 *
 * A thread is started when no other one is free, so there are as many as hashes run at once: the permits of hashing
 * bound them (`hashing-permits.ts`). A thread without work does not keep the process alive, and ends after a while.
 */
import type { BinaryLike, pbkdf2Sync, ScryptOptions } from 'node:crypto'
import { join } from 'node:path'
import { Worker as NodeThread } from 'node:worker_threads'
import { Unavailable } from '../problems/errors.ts'
import { projectFolder } from '../project-folder.ts'

/** The cost of Argon2id, and what a raw digest needs beside it. */
export interface Argon2Options {
  /** KiB. */
  readonly memoryCost: number
  readonly timeCost: number
  readonly parallelism: number
  readonly outputLen?: number
  readonly salt?: Uint8Array
}

/** What scrypt takes: the password, the salt, the length of the digest, and its cost. */
export type ScryptParameters = [BinaryLike, BinaryLike, number, ScryptOptions]

/**
 * Argon2id and others. Passwords are hashed as given. Every method rejects with an Error for parameters that the
 * function refuses, and with Unavailable(`hashing`) when the thread ends before its work.
 */
export interface Argon2 {
  /** A hash with a new salt, in PHC form. */
  hash(password: string, options: Argon2Options): Promise<string>
  /** True when the hash (in PHC form) is a hash of the password. */
  verify(hash: string, password: string): Promise<boolean>
  /** The digest alone. */
  hashRaw(password: string, options: Argon2Options): Promise<Buffer>
  /** The digest that this function of node:crypto makes. */
  digest(by: 'scrypt', parameters: ScryptParameters): Promise<Buffer>
  digest(by: 'pbkdf2', parameters: Parameters<typeof pbkdf2Sync>): Promise<Buffer>
  /** True when the hash (`$2b$…`) is a hash of the password. */
  verifyBcrypt(hash: string, password: string): Promise<boolean>
  /** Resolves while hashes can be made. After a thread has failed, it tries another one. @throws Unavailable */
  check(): Promise<void>
}

interface Argon2Threads extends Argon2 {
  /** How many threads there are. */
  count(): number
}

/** How the threads are kept. */
interface ThreadOptions {
  /** How long a thread without work is kept, in milliseconds. */
  readonly idleMs?: number
  /** Starts a thread; for tests. */
  readonly start?: () => NodeThread
}

interface Work {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

interface Thread {
  readonly node: NodeThread
  work: Work | undefined
  idleTimer: NodeJS.Timeout | undefined
}

const script = join(projectFolder, 'shared/platform/crypto/argon2-thread.mjs')

const startThread = () => {
  // A stack and a heap for a few strings. The memory of Argon2 is outside of the heap.
  const resourceLimits = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32, stackSizeMb: 1 }
  return new NodeThread(script, { name: 'argon2', execArgv: [], resourceLimits })
}

/** Threads that are started when they are needed. */
export function createArgon2Threads(options: ThreadOptions = {}): Argon2Threads {
  const threads = new Threads(options)
  const run = (
    operation: Exclude<keyof Argon2, 'check' | 'digest'> | 'scrypt' | 'pbkdf2',
    ...parameters: readonly unknown[]
  ) => threads.run({ operation, parameters })
  return {
    hash: async (password, cost) => String(await run('hash', password, cost)),
    verify: async (hash, password) => (await run('verify', hash, password)) === true,
    hashRaw: async (password, cost) => Buffer.from((await run('hashRaw', password, cost)) as Uint8Array),
    digest: async (by: 'scrypt' | 'pbkdf2', parameters: readonly unknown[]) =>
      Buffer.from((await run(by, ...parameters)) as Uint8Array),
    verifyBcrypt: async (hash, password) => (await run('verifyBcrypt', hash, password)) === true,
    check: async () => {
      if (threads.hasFailed) await run('hashRaw', '', leastWork)
    },
    count: () => threads.count,
  }
}

const leastWork: Argon2Options = { memoryCost: 8, timeCost: 1, parallelism: 1, salt: Buffer.alloc(16) }

class Threads {
  readonly #all = new Set<Thread>()
  /** Those without work. The last one had work last: the others may end. */
  readonly #idle: Thread[] = []
  readonly #idleMs: number
  readonly #start: () => NodeThread
  /** True after a thread has ended before its work, until another one answers. */
  hasFailed = false

  constructor({ idleMs = 60_000, start = startThread }: ThreadOptions) {
    this.#idleMs = idleMs
    this.#start = start
  }

  get count(): number {
    return this.#all.size
  }

  run(message: object): Promise<unknown> {
    const thread = this.#idle.pop() ?? this.#open()
    clearTimeout(thread.idleTimer)
    return new Promise((resolve, reject) => {
      thread.work = { resolve, reject }
      thread.node.ref()
      thread.node.postMessage(message)
    })
  }

  #open(): Thread {
    const thread: Thread = { node: this.#start(), work: undefined, idleTimer: undefined }
    this.#all.add(thread)
    const end = (cause?: unknown) => {
      this.#leave(thread)
      const work = takeWork(thread)
      this.hasFailed ||= work !== undefined
      work?.reject(new Unavailable('hashing', { cause }))
    }
    thread.node.on('error', end).on('exit', () => end())
    thread.node.on('message', ({ result, error }: { result?: unknown; error?: string }) => {
      const work = takeWork(thread)
      this.hasFailed = false
      this.#rest(thread)
      if (error === undefined) work?.resolve(result)
      else work?.reject(new Error(error))
    })
    return thread
  }

  #rest(thread: Thread): void {
    thread.node.unref()
    const end = () => {
      this.#leave(thread)
      void thread.node.terminate()
    }
    thread.idleTimer = setTimeout(end, this.#idleMs).unref()
    this.#idle.push(thread)
  }

  #leave(thread: Thread): void {
    this.#all.delete(thread)
    clearTimeout(thread.idleTimer)
    const index = this.#idle.indexOf(thread)
    if (index >= 0) this.#idle.splice(index, 1)
  }
}

function takeWork(thread: Thread): Work | undefined {
  const { work } = thread
  thread.work = undefined
  return work
}

/** The threads of this process. */
export const argon2: Argon2 = createArgon2Threads()
