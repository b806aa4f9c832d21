import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { refuseWhileFrozen } from '../../../verify/src/auth-client/refuse-while-frozen.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearInterval'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A server that answers light questions while `lives`, and each other one when it is told to. */
function openServer() {
  const server = { lives: true, asked: 0, aborted: 0, answer: () => {} }
  const send = (question: string, { signal }: AbortController) =>
    new Promise<string>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      if (question === 'light') {
        if (server.lives) resolve('light')
        else setTimeout(() => reject(new Error('no answer')), 1_000)
        return
      }
      server.asked += 1
      signal.addEventListener('abort', () => (server.aborted += 1))
      server.answer = () => resolve(`answer to ${question}`)
    })
  return { server, questions: refuseWhileFrozen(send, () => 'light') }
}

it('waits for a busy server while it responds to the probe', async () => {
  const { server, questions } = openServer()
  const asked = questions.ask('hash this')
  await vi.advanceTimersByTimeAsync(5_000)
  server.answer()
  expect(await asked).toBe('answer to hash this')
})

it('gives up on a server without a response for a second, and returns as soon as it responds', async () => {
  const { server, questions } = openServer()
  server.lives = false
  const asked = ['one', 'two'].map((question) => questions.ask(question))
  const outcomes = Promise.allSettled(asked)
  await vi.advanceTimersByTimeAsync(1_200)
  for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: expect.any(Unavailable) })
  expect(server.aborted).toBe(2)
  await expect(questions.ask('three')).rejects.toThrow(Unavailable)
  expect(server.asked).toBe(2)
  server.lives = true
  await vi.advanceTimersByTimeAsync(1_500)
  const again = questions.ask('four')
  server.answer()
  expect(await again).toBe('answer to four')
  questions.stop()
  await expect(questions.ask('five')).rejects.toThrow(Unavailable)
})

it('counts every response as a sign of life', async () => {
  const { server, questions } = openServer()
  server.lives = false
  const slow = questions.ask('slow')
  const answerSlow = server.answer
  for (let count = 0; count < 10; count += 1) {
    const quick = questions.ask('quick')
    await vi.advanceTimersByTimeAsync(500)
    server.answer()
    await quick
  }
  answerSlow()
  expect(await slow).toBe('answer to slow')
})
