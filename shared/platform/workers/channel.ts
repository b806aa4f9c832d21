/**
 * Typed messages between the primary process and one worker. A call has one answer; news have none. Messages arrive in
 * the order in which they were sent. Each message has the time of its sending on the clock of the machine.
 */
import type { Socket } from 'node:net'
import { machineMs } from '../clock.ts'
import { DeadlinePassed, withDeadline } from '../concurrency/deadline.ts'
import { ProblemError, Unavailable } from '../problems/errors.ts'

/** A question with one answer. Values must be such that structured clone copies them. */
export interface Call<Argument, Result> {
  readonly name: string
  /** Only for the types. */
  readonly types?: (argument: Argument) => Result
}

/** A message without an answer. */
export interface News<Value> {
  readonly name: string
  /** Only for the types. */
  readonly types?: (value: Value) => void
}

/** Names a call. Each name is used once. */
export const defineCall = <Argument, Result>(name: string): Call<Argument, Result> => ({ name })

/** Names news. Each name is used once. */
export const defineNews = <Value>(name: string): News<Value> => ({ name })

/** The way of messages to one other process: a child process, or `process` itself in a child. */
export interface Line {
  send(message: object, socket: Socket | undefined, onSent: (error: Error | null) => void): void
  onMessage(listener: (message: unknown, socket: unknown) => void): void
  onClose(listener: () => void): void
}

/** Hears news: the value, how long the message was on its way in milliseconds, and the connection sent with it. */
export type Hear<Value> = (value: Value, delayMs: number, socket: unknown) => void

/** A failure as it travels: refusals and missing dependencies stay what they are. */
type Failure =
  | { readonly kind: 'unavailable'; readonly dependency: string; readonly retryAfterSeconds: number }
  | {
      readonly kind: 'refused'
      readonly code: string
      readonly detail: string
      readonly retryAfterSeconds: number | undefined
    }
  | { readonly kind: 'error'; readonly message: string }

type Message = { readonly sentAt: number } & (
  | { readonly kind: 'news'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'call'; readonly name: string; readonly id: number; readonly value: unknown }
  | { readonly kind: 'answer'; readonly id: number; readonly value?: unknown; readonly failure?: Failure }
)

interface Pending {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** How long a call waits for its answer, in milliseconds. */
const answerWithinMs = 10_000

/** The dependency that is missing while the other process does not answer. */
export const otherProcess = 'primary-process'

/** One end of the messages between two processes. */
export class Channel {
  readonly #line: Line
  readonly #answers = new Map<string, (value: never) => unknown>()
  readonly #hearers = new Map<string, Hear<never>[]>()
  readonly #pending = new Map<number, Pending>()
  #isClosed = false
  #lastId = 0

  constructor(line: Line) {
    this.#line = line
    line.onMessage((message, socket) => this.#onMessage(message as Message, socket))
    line.onClose(() => this.#onClose())
  }

  /**
   * Asks the other process. @throws Unavailable when it ends or does not answer in 10 s; ProblemError, Unavailable and
   * Error as the answering function throws them
   */
  async call<Argument, Result>({ name }: Call<Argument, Result>, value: Argument): Promise<Result> {
    if (this.#isClosed) throw new Unavailable(otherProcess)
    const id = ++this.#lastId
    const answer = new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }))
    void this.#send({ kind: 'call', name, id, value, sentAt: machineMs() })
    try {
      return (await withDeadline(answer, answerWithinMs)) as Result
    } catch (error) {
      throw error instanceof DeadlinePassed ? new Unavailable(otherProcess) : error
    } finally {
      this.#pending.delete(id)
    }
  }

  /** From now on answers this call. One function answers. */
  answer<Argument, Result>(
    { name }: Call<Argument, Result>,
    work: (value: Argument) => Promise<Result> | Result,
  ): void {
    this.#answers.set(name, work)
  }

  /**
   * Tells news, with an open connection if there is one. Resolves to false when the other process has not taken the
   * message.
   */
  tell<Value>({ name }: News<Value>, value: Value, socket?: Socket): Promise<boolean> {
    return this.#send({ kind: 'news', name, value, sentAt: machineMs() }, socket)
  }

  /** From now on hears these news. */
  hear<Value>({ name }: News<Value>, listener: Hear<Value>): void {
    this.#hearers.set(name, [...(this.#hearers.get(name) ?? []), listener])
  }

  #send(message: Message, socket?: Socket): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false)
    return new Promise((resolve) => this.#line.send(message, socket, (error) => resolve(error === null)))
  }

  #onMessage(message: Message, socket: unknown): void {
    if (message.kind === 'call') void this.#reply(message.name, message.id, message.value)
    else if (message.kind === 'answer') this.#settle(message.id, message)
    else {
      const delayMs = machineMs() - message.sentAt
      for (const hear of this.#hearers.get(message.name) ?? []) hear(message.value as never, delayMs, socket)
    }
  }

  async #reply(name: string, id: number, argument: unknown): Promise<void> {
    try {
      const work = this.#answers.get(name)
      if (!work) throw new Unavailable(otherProcess)
      const value = await work(argument as never)
      await this.#send({ kind: 'answer', id, value, sentAt: machineMs() })
    } catch (error) {
      await this.#send({ kind: 'answer', id, failure: failureOf(error), sentAt: machineMs() })
    }
  }

  #settle(id: number, { value, failure }: { readonly value?: unknown; readonly failure?: Failure }): void {
    const pending = this.#pending.get(id)
    if (failure) pending?.reject(errorOf(failure))
    else pending?.resolve(value)
  }

  #onClose(): void {
    this.#isClosed = true
    for (const { reject } of this.#pending.values()) reject(new Unavailable(otherProcess))
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof Unavailable) {
    const { dependency, retryAfterSeconds } = error
    return { kind: 'unavailable', dependency, retryAfterSeconds }
  }
  if (error instanceof ProblemError) {
    const { code, message: detail, retryAfterSeconds } = error
    return { kind: 'refused', code, detail, retryAfterSeconds }
  }
  return { kind: 'error', message: error instanceof Error ? error.message : 'unknown error' }
}

function errorOf(failure: Failure): Error {
  if (failure.kind === 'unavailable') return new Unavailable(failure.dependency, failure)
  if (failure.kind === 'refused') return new ProblemError(failure.code, failure.detail, failure)
  return new Error(failure.message)
}
