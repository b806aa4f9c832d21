/** What a stack trace shows of a held deal: the way through the house, by the names of its functions. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../shared/platform/clock.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

const broken = 'the clock is broken'
const { stackTraceLimit } = Error
let isBroken = false
let stack: Stack

/** Fails where the decision asks for the time. */
const clock = {
  monotonic: () => systemClock.monotonic(),
  now: () => {
    const error = new Error(broken)
    if (isBroken && /\bdecide\b/.test(error.stack ?? '')) throw error
    return systemClock.now()
  },
}

beforeAll(async () => {
  Error.stackTraceLimit = 100
  stack = await openStack(openEmbedded, { dealServer: () => ({ clock }) })
})

afterAll(async () => {
  Error.stackTraceLimit = stackTraceLimit
  await stack?.close()
})

/** The functions of the project in the trace, the innermost first; '' for one without a name. */
function functionsIn(trace: string): string[] {
  const frames = trace.split('\n').filter((line) => /^ +at /.test(line) && !/node_modules|\/test\//.test(line))
  return frames.map((frame) => /at (?:async )?(\S+) \(/.exec(frame)?.[1] ?? '')
}

it('names the functions of each step', async () => {
  const { access: token } = await stack.logIn('alice')
  const { body } = await stack.deal.send('/rest/v1/deals', { token, json: { name: 'deal', price: 1 } })
  isBroken = true
  const held = await stack.deal.send(`/rest/v1/deals/${body.id}/hold`, { method: 'PUT', token, json: { reason: 'r' } })
  isBroken = false
  expect(held.status).toBe(500)
  const line = stack.logLines.find((one) => one.includes(broken)) ?? '{}'
  const functions = functionsIn(JSON.parse(line).err?.stack ?? '')
  const steps = ['decide', 'runCommand', 'executeCommand', 'handleRequest', 'answerOrProblem', 'serve']
  expect(functions.filter((name) => steps.includes(name))).toEqual([
    'decide',
    'runCommand',
    'executeCommand',
    'runCommand',
    'handleRequest',
    'answerOrProblem',
    'serve',
  ])
  expect(functions.filter((name) => name === '')).toEqual([])
})
