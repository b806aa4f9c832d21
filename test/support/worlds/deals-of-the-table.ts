/** Deals in each state of the transition table, made over HTTP. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Stack } from './stack.ts'
import { type DealState, waysInto } from './transition-table.ts'

/** Makes a deal in this state, in the name of `token`; the result is its id. */
export async function makeDeal(stack: Stack, token: string, state: DealState): Promise<string> {
  const id = randomUUID()
  for (const [name, params] of waysInto[state]) await runCommand(stack, token, name, { id, ...params })
  return id
}

/** Runs a command, which must succeed. */
export async function runCommand(stack: Stack, token: string, name: string, json: object): Promise<void> {
  const reply = await stack.deal.send(`/command/${name}`, { token, json })
  expect(reply.status, `${name}: ${reply.text}`).toBe(200)
}
