/** What each `{dto_name}` of the query controller reads. */
import { Refused } from '../../../shared/errors.ts'
import type { HttpCall } from '../../../shared/http/call.ts'
import { foldUsername } from '../../../shared/principals/record.ts'
import type { Caller } from '../../../shared/schemes/authenticate.ts'
import type { DealFilter, DealRepository } from '../../domain/repository.ts'
import { username, uuid } from '../../use-cases/parameters.ts'
import { assignedTaskQuery, dealHistoryQuery, dealQuery, dealsQuery } from '../../use-cases/queries.ts'
import { isPresent } from '../presence.ts'
import { listLimit, noParameters, readQuery } from '../query-parameters.ts'
import { representDeal, representListedDeal } from '../represent-deal.ts'
import { representEvent } from '../represent-event.ts'

interface ControlledQuery {
  rights(caller: Caller): readonly string[]
  run(repository: DealRepository, caller: Caller): Promise<readonly unknown[]>
}

type QueryController = (call: HttpCall, parameter: string) => ControlledQuery

/** `{dto_name}` → its query. */
export const queryControllers: ReadonlyMap<string, QueryController> = new Map([
  ['Deal', deal],
  ['Deals', deals],
  ['AssignedTask', assignedTask],
  ['DealHistory', dealHistory],
])

function deal(call: HttpCall, parameter: string): ControlledQuery {
  readQuery(call, noParameters)
  return {
    rights: () => [dealQuery.right],
    run: async (repository) => {
      const found = await dealQuery.run({ id: idOf(parameter) }, repository)
      return isPresent(found) ? [representDeal(found)] : []
    },
  }
}

const selections: Readonly<Record<string, Omit<DealFilter, 'limit'>>> = {
  open: { status: 'open' },
  completed: { status: 'completed' },
  cancelled: { status: 'cancelled' },
  held: { held: true },
}

function deals(call: HttpCall, parameter: string): ControlledQuery {
  const { limit } = readQuery(call, listLimit)
  const selection = Object.hasOwn(selections, parameter) ? selections[parameter] : undefined
  if (!selection) throw new Refused('invalid-parameter', `Expected one of ${Object.keys(selections).join(', ')}.`)
  return {
    rights: () => [dealsQuery.right],
    run: async (repository) => (await dealsQuery.run({ ...selection, limit }, repository)).map(representListedDeal),
  }
}

function assignedTask(call: HttpCall, parameter: string): ControlledQuery {
  const { limit } = readQuery(call, listLimit)
  if (!username.safeParse(parameter).success) throw new Refused('not-found', 'There is no such user.')
  return {
    rights: (caller) => (foldUsername(caller.username) === foldUsername(parameter) ? [] : [assignedTaskQuery.right]),
    run: (repository) => assignedTaskQuery.run({ employeeId: parameter, limit }, repository),
  }
}

function dealHistory(call: HttpCall, parameter: string): ControlledQuery {
  const { limit } = readQuery(call, listLimit)
  return {
    rights: () => [dealHistoryQuery.right],
    run: async (repository) =>
      (await dealHistoryQuery.run({ dealId: idOf(parameter), limit }, repository)).map(representEvent),
  }
}

/** @throws Refused `not-found` for what cannot be a deal's id */
function idOf(parameter: string): string {
  const parsed = uuid.safeParse(parameter)
  if (parsed.success) return parsed.data
  throw new Refused('not-found', 'There is no such deal: a deal id is a UUID.')
}
