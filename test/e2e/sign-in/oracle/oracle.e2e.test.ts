/**
 * The same requests to Keyhold and to `oidc-provider`, which the OpenID Foundation has certified: both give the same
 * errors in the same place, but for the table of differences.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { authorizationCases } from './authorization-cases.ts'
import { differences } from './differences.ts'
import { openKeyhold } from './keyhold-side.ts'
import { openOidcProvider } from './oidc-provider-side.ts'
import type { Side } from './sides.ts'
import { tokenCases } from './token-cases.ts'

let keyhold: Side
let oracle: Side

const cases = [...authorizationCases, ...tokenCases]
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

  it.each(cases)('$name', async ({ name, run }) => {
    const difference = differences.find((one) => one.cases.test(name))
    const [own, other] = [await run(keyhold), await run(oracle)]
    if (own === other) return
    expect({ keyhold: own, oidcProvider: other }).toEqual({
      keyhold: expect.stringMatching(new RegExp(`^${difference?.keyhold}$`)),
      oidcProvider: expect.stringMatching(new RegExp(`^${difference?.oidcProvider}$`)),
    })
    used.add(String(difference?.cases))
  })

  it('has each request once, and no difference that is none', () => {
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length)
    expect(differences.map((one) => String(one.cases)).filter((pattern) => !used.has(pattern))).toEqual([])
  })
})
