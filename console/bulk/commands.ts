/** Bulk changes as commands of a batch. */
import type { RowCommand } from '../../deal-server/files/rows.ts'
import type { BulkAction } from './bulk-bar.tsx'

/** A selected deal. */
export interface Selected {
  readonly id: string
  /** The version that the reader saw. */
  readonly version: string
}

/** The selected deals of a form: fields `select.<id>` with the version. Fields that are no such are left out. */
export const selectedIn = (form: ReadonlyMap<string, string>): Selected[] =>
  [...form].flatMap(([name, version]) => {
    const id = /^select\.([0-9a-f-]{36})$/.exec(name)?.[1]
    return id !== undefined && /^\d{1,15}$/.test(version) ? [{ id, version }] : []
  })

interface Change {
  readonly action: BulkAction
  readonly reason: string
  readonly employeeId: string
  /** The start of command ids. */
  readonly bulkId: string
}

/** The command for each deal. A deal that changed since the reader saw it is refused. */
export function commandsFor(selected: readonly Selected[], { bulkId, ...change }: Change): RowCommand[] {
  const { action, params } = actionOf(change)
  return selected.map(({ id, version }) => ({
    id: `bulk.${bulkId}.${id}`,
    deal: id,
    action,
    params,
    ifMatch: `"${version}"`,
  }))
}

function actionOf({ action, reason, employeeId }: Omit<Change, 'bulkId'>) {
  if (action === 'hold') return { action: 'HoldDeal', params: { reason } }
  if (action === 'unhold') return { action: 'UnholdDeal', params: {} }
  return { action: 'AssignOwner', params: { employeeId } }
}
