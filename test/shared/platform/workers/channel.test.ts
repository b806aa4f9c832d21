import { EventEmitter } from 'node:events'
import { beforeEach, describe, expect, it } from 'vitest'
import { ProblemError, Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { Channel, defineCall, defineNews, type Line } from '../../../../shared/platform/workers/channel.ts'

/** Two ends of one line, which copies as the system does. */
function openLine(): { ends: [Line, Line]; cut(): void } {
  const [here, there] = [new EventEmitter(), new EventEmitter()]
  const end = (own: EventEmitter, other: EventEmitter): Line => ({
    send: (message, _socket, onSent) => {
      const copy = structuredClone(message)
      setImmediate(() => {
        other.emit('message', copy)
        onSent(null)
      })
    },
    onMessage: (listener) => void own.on('message', listener),
    onClose: (listener) => void own.on('close', listener),
  })
  const cut = () => {
    for (const side of [here, there]) side.emit('close')
  }
  return { ends: [end(here, there), end(there, here)], cut }
}

const double = defineCall<number, number>('double')
const words = defineNews<string>('words')

describe('a channel', () => {
  let cut: () => void
  let asking: Channel
  let answering: Channel

  beforeEach(() => {
    const line = openLine()
    cut = line.cut
    asking = new Channel(line.ends[0])
    answering = new Channel(line.ends[1])
  })

  it('gives each call its own answer, also when answers come in another order', async () => {
    const waiting: (() => void)[] = []
    answering.answer(double, (value) => new Promise((resolve) => waiting.push(() => resolve(value * 2))))
    const answers = Promise.all([asking.call(double, 1), asking.call(double, 2)])
    await expect.poll(() => waiting.length).toBe(2)
    for (const answer of waiting.reverse()) answer()
    expect(await answers).toEqual([2, 4])
  })

  it('hands refusals and missing dependencies over as such, and other errors by their message', async () => {
    const errors = [
      new Unavailable('database', { retryAfterSeconds: 7 }),
      new ProblemError('too-many-streams', 'Too many.', { retryAfterSeconds: 10 }),
      new TypeError('a defect'),
    ]
    answering.answer(double, (index) => {
      throw errors[index]
    })
    const thrown = await Promise.all([0, 1, 2].map((index) => asking.call(double, index).catch((error) => error)))
    expect(thrown[0]).toBeInstanceOf(Unavailable)
    expect(thrown[0]).toMatchObject({ dependency: 'database', retryAfterSeconds: 7 })
    expect(thrown[1]).toBeInstanceOf(ProblemError)
    expect(thrown[1]).toMatchObject({ code: 'too-many-streams', message: 'Too many.', retryAfterSeconds: 10 })
    expect(thrown[2]).toMatchObject({ message: 'a defect' })
  })

  it('tells news to all who hear them, with the time that they took', async () => {
    const heard: [string, number][] = []
    for (let hearer = 0; hearer < 2; hearer += 1)
      answering.hear(words, (value, delayMs) => void heard.push([value, delayMs]))
    expect(await asking.tell(words, 'hello')).toBe(true)
    expect(heard.map(([value]) => value)).toEqual(['hello', 'hello'])
    for (const [, delayMs] of heard) expect(delayMs).toBeGreaterThan(0)
  })

  it('refuses calls that nobody answers, and all calls once the other process has ended', async () => {
    await expect(asking.call(double, 1)).rejects.toBeInstanceOf(Unavailable)
    answering.answer(double, () => new Promise(() => undefined))
    const pending = asking.call(double, 1)
    cut()
    await expect(pending).rejects.toBeInstanceOf(Unavailable)
    await expect(asking.call(double, 1)).rejects.toBeInstanceOf(Unavailable)
    expect(await asking.tell(words, 'late')).toBe(false)
  })
})
