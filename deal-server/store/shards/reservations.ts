/**
 * Reservations of command ids on the shard of their principal. A reservation is committed before the command: the first
 * one of an id decides for which command the id stands, whatever shards the deals of others are on.
 */
import { gatherStatements } from '../../../shared/platform/database/gather-statements.ts'
import type { CommandKey, CommandRecord, CommandReservation } from '../../commands/ports.ts'
import type { DealDatabase } from '../deals.ts'

/** The reservations on one shard. */
export interface Reservations {
  /** @throws Unavailable */
  find(key: CommandKey): Promise<CommandReservation | undefined>
  /** Reserves the id. False when it stands for another command, or another deal. @throws Unavailable */
  take(command: CommandRecord): Promise<boolean>
}

interface ReservationRow {
  readonly principal_id: string
  readonly command_id: string
  readonly deal_id: string
  readonly use_case: string
  readonly fingerprint: string
}

/** `$1`: rows, in the order of their keys, so that two batches cannot wait for each other. */
const reserveStatement = `
  insert into deals.command_reservations (principal_id, command_id, deal_id, use_case, fingerprint)
  select principal_id, command_id, deal_id, use_case, fingerprint
  from json_populate_recordset(null::deals.command_reservations, $1::text::json)
  order by principal_id collate "C", command_id collate "C"
  on conflict do nothing returning principal_id, command_id`

/** `$1`: `[{principal_id, command_id}]`. */
const findStatement = `
  select to_json(r) as row from json_to_recordset($1::text::json) as i(principal_id text, command_id text)
  cross join lateral (
    select * from deals.command_reservations where principal_id = i.principal_id and command_id = i.command_id limit 1
  ) r`

const nameOf = (principalId: string, commandId: string): string => JSON.stringify([principalId, commandId])

/** The reservations of one shard, for all callers of a process. */
export function createReservations(database: DealDatabase): Reservations {
  const findAll = async (keys: readonly CommandKey[]): Promise<(CommandReservation | undefined)[]> => {
    const wanted = keys.map(({ principalId, commandId }) => ({ principal_id: principalId, command_id: commandId }))
    const rows = await database.query<{ row: ReservationRow }>(findStatement, [JSON.stringify(wanted)])
    const found = new Map(rows.map(({ row }) => [nameOf(row.principal_id, row.command_id), reservationOfRow(row)]))
    return keys.map(({ principalId, commandId }) => found.get(nameOf(principalId, commandId)))
  }
  const takeAll = async (commands: readonly CommandRecord[]): Promise<boolean[]> => {
    const taken = await database.write<Pick<ReservationRow, 'principal_id' | 'command_id'>>(reserveStatement, [
      JSON.stringify(commands.map(rowOf)),
    ])
    const names = new Set(taken.map((row) => nameOf(row.principal_id, row.command_id)))
    const isNew = commands.map(({ key }) => names.has(nameOf(key.principalId, key.commandId)))
    if (!isNew.includes(false)) return isNew
    // Reads again: rows that others have just committed are not in what the insert saw.
    const before = await findAll(commands.map(({ key }) => key))
    return commands.map((command, index) => isNew[index] === true || isSame(before[index], command))
  }
  const gathered = gatherStatements<CommandRecord, boolean>({
    key: ({ key }) => nameOf(key.principalId, key.commandId),
    run: takeAll,
  })
  return { find: gatherStatements<CommandKey, CommandReservation | undefined>({ run: findAll }), take: gathered }
}

const isSame = (reserved: CommandReservation | undefined, { dealId, fingerprint }: CommandRecord): boolean =>
  reserved?.dealId === dealId && reserved.fingerprint === fingerprint

const rowOf = ({ key, dealId, useCase, fingerprint }: CommandRecord): ReservationRow => ({
  principal_id: key.principalId,
  command_id: key.commandId,
  deal_id: dealId,
  use_case: useCase,
  fingerprint,
})

const reservationOfRow = (row: ReservationRow): CommandReservation => ({
  key: { principalId: row.principal_id, commandId: row.command_id },
  dealId: row.deal_id,
  useCase: row.use_case,
  fingerprint: row.fingerprint,
})
