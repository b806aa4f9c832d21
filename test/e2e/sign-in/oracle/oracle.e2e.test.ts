/**
 * The same requests to Keyhold and to `oidc-provider`, which the OpenID Foundation has certified: both give the same
 * errors in the same place, but for the table of differences.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { authorizationCases, type Case } from './authorization-cases.ts'
import { differences } from './differences.ts'
import { openKeyhold } from './keyhold-side.ts'
import { openOidcProvider } from './oidc-provider-side.ts'
import type { Side } from './sides.ts'
import { tokenCases } from './token-cases.ts'

let keyhold: Side
let oracle: Side

const cases = [...authorizationCases, ...tokenCases]
const beginning = (pattern: RegExp) => tokenCases.filter(({ name }) => pattern.test(name))
const groups = [
  { name: 'authorization requests', all: authorizationCases },
  { name: 'pushed requests', all: beginning(/^par/) },
  { name: 'exchanges', all: beginning(/^token/) },
  { name: 'refreshes', all: beginning(/^refresh/) },
  { name: 'userinfo', all: beginning(/^userinfo/) },
]
const used = new Set<string>()

describe('Keyhold answers as oidc-provider does, or as the table says', () => {
  beforeAll(async () => {
    keyhold = await openKeyhold()
    oracle = await openOidcProvider()
  })
  afterAll(async () => {
    await oracle.close()
    await keyhold.close()
  })

  /** What both answer, where that is neither the same nor in the table. */
  async function differs({ name, run }: Case) {
    const answers = { keyhold: await run(keyhold), oidcProvider: await run(oracle) }
    if (answers.keyhold === answers.oidcProvider) return undefined
    const difference = differences.find((one) => one.cases.test(name))
    const fits = (pattern: string | undefined, answer: string) => new RegExp(`^(${pattern})$`).test(answer)
    used.add(String(difference?.cases))
    const isKnown = fits(difference?.keyhold, answers.keyhold) && fits(difference?.oidcProvider, answers.oidcProvider)
    return isKnown ? undefined : { name, ...answers, table: difference }
  }

  it.each(groups)('$name', async ({ all }) => {
    const unexplained = []
    for (const one of all) unexplained.push(await differs(one))
    expect(unexplained.filter((one) => one !== undefined)).toEqual([])
    expect(all.length).toBeGreaterThan(10)
  })

  it('has each request once, and no difference that is none', () => {
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length)
    expect(groups.flatMap(({ all }) => all)).toHaveLength(cases.length)
    expect(differences.map((one) => String(one.cases)).filter((pattern) => !used.has(pattern))).toEqual([])
  })
})
