import { expect, it } from 'vitest'
import { createEndpoints } from '../../../auth-server/http/endpoints/index.ts'
import { builtInRights } from '../../../auth-server/principals/rights.ts'
import { operationOf } from '../../../shared/server/endpoints/routes.ts'

const endpoints = createEndpoints({ keySigned: true, session: true }, {} as never)

const demandedBy = (endpoint: (typeof endpoints)[number]) => (endpoint.caller === 'none' ? undefined : endpoint.right)

it('every right that an endpoint demands is one of the catalogue', () => {
  const demanded = endpoints.map(demandedBy).filter((right) => right !== undefined && right !== 'own-account')
  expect(demanded.length).toBeGreaterThan(20)
  expect(builtInRights).toEqual(expect.arrayContaining(demanded))
})

it('no description of an endpoint names another right than that which the endpoint demands', () => {
  const named = endpoints.flatMap((endpoint) => {
    const text = JSON.stringify(operationOf(endpoint))
    return builtInRights
      .filter((right) => text.includes(`\`${right}\``))
      .map((right) => ({ endpoint: endpoint.id, right, demanded: demandedBy(endpoint) }))
  })
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter(({ right, demanded }) => right !== demanded)).toEqual([])
})
