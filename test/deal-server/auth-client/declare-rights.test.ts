import { expect, it, vi } from 'vitest'
import { createRightsDeclaration } from '../../../deal-server/auth-client/declare-rights.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { deferred } from '../../support/deferred.ts'
import { fakeSystems } from '../../support/fake-systems.ts'

const rights = [{ name: 'deal.stamp', description: 'Stamp deals', readsOnly: false }]

/** A declaration to an auth server that answers so, one after the other; the last answer stays. */
function open(...answers: readonly (number | Error | Promise<number>)[]) {
  let asked = 0
  const ask = vi.fn(async () => {
    const answer = await answers[Math.min(asked++, answers.length - 1)]
    if (answer instanceof Error) throw answer
    return { status: answer ?? 0, headers: new Headers(), body: { code: 'right-exists' } }
  })
  const log = { warn: vi.fn(), error: vi.fn() }
  return { ask, log, declaration: createRightsDeclaration(fakeSystems({ authClient: { ask }, log }), rights, 1) }
}

it('is sent once when the auth server takes it', async () => {
  const { declaration, ask, log } = open(204)
  declaration.start()
  declaration.start()
  await expect.poll(() => ask.mock.calls.length).toBe(1)
  await declaration.stop()
  expect(ask.mock.calls).toEqual([[{ method: 'POST', target: '/declared-rights', body: { rights } }]])
  expect(log.warn).not.toHaveBeenCalled()
})

it('is sent again while the auth server is away or refuses, and a refusal is logged once', async () => {
  const { declaration, ask, log } = open(new Unavailable('auth-server'), 409, 409, 204)
  declaration.start()
  await expect.poll(() => ask.mock.calls.length).toBe(4)
  await declaration.stop()
  expect(log.warn.mock.calls.map(([content]) => content)).toEqual([{ status: 409, problem: { code: 'right-exists' } }])
})

it('ends with the server', async () => {
  const { declaration, ask } = open(new Unavailable('auth-server'))
  declaration.start()
  await expect.poll(() => ask.mock.calls.length).toBeGreaterThan(1)
  await declaration.stop()
  const { length } = ask.mock.calls
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(ask.mock.calls).toHaveLength(length)
})

it('ends after the question that is under way', async () => {
  const answered = deferred<number>()
  const { declaration, ask } = open(answered.promise)
  declaration.start()
  await expect.poll(() => ask.mock.calls.length).toBe(1)
  const onStopped = vi.fn()
  const stopped = declaration.stop().then(onStopped)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(onStopped).not.toHaveBeenCalled()
  answered.resolve(204)
  await stopped
})

it('reports a defect and goes no further', async () => {
  const { declaration, ask, log } = open(new TypeError('a defect'))
  declaration.start()
  await expect.poll(() => log.error.mock.calls.length).toBe(1)
  await declaration.stop()
  expect(ask).toHaveBeenCalledTimes(1)
})
