/** Deals as the store holds them, beside the servers: to compare twins, and to fold history. */
import { expect } from 'vitest'
import { createDealRepository } from '../../../deal-server/store/deals.ts'
import { foldHistory } from '../../../deal-server/use-cases/apply-events.ts'
import type { Database } from '../../../shared/platform/database/database.ts'

/** Reads what is stored. */
export function storedDeals(database: Database) {
  const repository = createDealRepository(database)
  const load = async (dealId: string) => (await repository.load(dealId, undefined)).deal
  const history = async (dealId: string) => (await repository.history(dealId, { limit: 1000, after: undefined })).items
  return {
    load,
    history,
    /** Expects that the events, folded, are the stored deal, and that versions and sequences have no gaps. */
    expectFolded: async (dealId: string): Promise<void> => {
      const [deal, events] = await Promise.all([load(dealId), history(dealId)])
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1))
      const commands = new Map<number, typeof events>()
      for (const event of events) {
        commands.set(event.dealVersion, [...(commands.get(event.dealVersion) ?? []), event])
      }
      expect([...commands.keys()]).toEqual([...commands.keys()].map((_, index) => index + 1))
      for (const ofCommand of commands.values()) {
        expect(new Set(ofCommand.map(({ correlationId }) => correlationId)).size).toBe(1)
      }
      expect(foldHistory(events)).toEqual(deal)
    },
  }
}

const timeOfDay = /^\d{4}-\d\d-\d\dT/

/** A value without ids of deals and without times: what twins have in common. */
export function withoutIdsAndTimes(value: unknown, dealId: string): unknown {
  const isTime = (name: string, member: unknown) =>
    name === 'heldForSeconds' || (typeof member === 'string' && timeOfDay.test(member))
  const text = JSON.stringify(value, (name, member: unknown) => (isTime(name, member) ? 'time' : member))
  return text === undefined ? undefined : JSON.parse(text.replaceAll(dealId, 'deal'))
}
