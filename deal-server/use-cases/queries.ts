/** The shape of a query, and the table of all of them. A query reads through the repository and changes nothing. */
import type { Deal } from '../domain/deal.ts'
import type { DealFilter, DealRepository } from '../domain/repository.ts'

export interface Query<Parameters, Result> {
  readonly kind: 'query'
  readonly name: string
  readonly summary: string
  readonly right: string
  run(parameters: Parameters, repository: DealRepository): Promise<Result>
}

/** One deal; undefined when there is none, or it is deleted. */
export const dealQuery: Query<{ id: string }, Deal | undefined> = {
  kind: 'query',
  name: 'Deal',
  summary: 'Read a deal',
  right: 'deal.read',
  run: async ({ id }, repository) => {
    const { deal } = await repository.load(id, undefined)
    return deal?.deletedAt === null ? deal : undefined
  },
}

/** Deals by filter, newest first. */
export const dealsQuery: Query<DealFilter, Deal[]> = {
  kind: 'query',
  name: 'Deals',
  summary: 'List deals',
  right: 'deal.read',
  run: (filter, repository) => repository.list(filter),
}
