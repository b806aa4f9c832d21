import { expect, it } from 'vitest'
import { createEndpoints } from '../../../auth-server/http/endpoints/index.ts'
import { operationOf } from '../../../auth-server/http/pipeline/routes.ts'
import { builtInRights } from '../../../auth-server/principals/rights.ts'

it('no description of an endpoint names another right than that which the endpoint demands', () => {
  const named = createEndpoints({ keySigned: true, session: true }, {} as never).flatMap((endpoint) => {
    const text = JSON.stringify(operationOf(endpoint))
    const demanded = endpoint.caller === 'none' ? undefined : endpoint.right
    return builtInRights
      .filter((right) => text.includes(`\`${right}\``))
      .map((right) => ({ endpoint: endpoint.id, right, demanded }))
  })
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter(({ right, demanded }) => right !== demanded)).toEqual([])
})
