/** The proposals in PostgreSQL. They are written once, and deleted when nobody can ask for them any more. */
import { and, desc, eq, gt, isNotNull, isNull, lte, not, type SQL, sql } from 'drizzle-orm'
import { type Database, type Drizzle, isDuplicate } from '../../shared/platform/database/database.ts'
import type { JsonRow } from '../../shared/platform/database/statement.ts'
import { type Page, pageOfRows } from '../../shared/platform/pagination.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { CommandKey, DealCommit } from '../commands/ports.ts'
import type { Proposal, ProposalState } from '../domain/proposals.ts'
import type { ProposalRequest } from '../queries/ports.ts'
import { bucketOf } from './events/bucket.ts'
import { rfc3339OfRow, rowsOfCommits } from './rows.ts'
import { commands, proposals } from './schema.ts'

/** Proposals of one user that may wait at a time. */
const maxOpen = 1_000

type ProposalRow = JsonRow<typeof proposals>

const proposalOfRow = (row: ProposalRow): Proposal => ({
  id: row.id,
  principalId: row.principal_id,
  proposedBy: row.proposed_by,
  commandId: row.command_id,
  dealId: row.deal_id,
  useCase: row.use_case,
  params: row.params,
  fingerprint: row.fingerprint,
  dealVersion: row.deal_version,
  client: row.client,
  proposedAt: rfc3339OfRow(row.proposed_at),
  expiresAt: rfc3339OfRow(row.expires_at),
})

const isOfProposal = and(eq(commands.principalId, proposals.principalId), eq(commands.commandId, proposals.commandId))
const isOpen = (now: string) => and(isNull(commands.commandId), gt(proposals.expiresAt, now))
const isApproved = sql`(${commands.fingerprint} = ${proposals.fingerprint}
  and ${commands.outcome} ->> 'state' is distinct from 'refused')`

/** As `stateOf` of the domain. */
const conditionsAt = (now: string): Readonly<Record<ProposalState, SQL | undefined>> => ({
  open: isOpen(now),
  expired: and(isNull(commands.commandId), lte(proposals.expiresAt, now)),
  approved: and(isNotNull(commands.commandId), isApproved),
  rejected: and(isNotNull(commands.commandId), not(isApproved)),
})

/** A page of the proposals in a state, the newest first. @throws Unavailable */
export async function listProposals(
  { drizzle }: Database,
  { state, proposer, now, page: { limit, after } }: ProposalRequest,
): Promise<Page<Proposal>> {
  const behind =
    after &&
    sql`(${proposals.proposedAt}, ${proposals.id}) < (${String(after[0])}::text::timestamptz, ${String(after[1])}::text::uuid)`
  const ofProposer = proposer === undefined ? undefined : eq(proposals.principalId, proposer)
  const rows = await drizzle
    .select({ proposal: sql<ProposalRow>`to_json(proposals)` })
    .from(proposals)
    .leftJoin(commands, isOfProposal)
    .where(and(conditionsAt(now)[state], ofProposer, behind))
    .orderBy(desc(proposals.proposedAt), desc(proposals.id))
    .limit(limit + 1)
  return pageOfRows(rows, limit, {
    item: ({ proposal }) => proposalOfRow(proposal),
    position: ({ proposal }) => [proposal.proposed_at, proposal.id],
  })
}

/** The proposal with this id. @throws Unavailable */
export const loadProposal = ({ drizzle }: Database, id: string): Promise<Proposal | undefined> =>
  readOne(drizzle, eq(proposals.id, id))

/** The proposal of a command. @throws Unavailable */
export const findProposal = (
  { drizzle }: Database,
  { principalId, commandId }: CommandKey,
): Promise<Proposal | undefined> =>
  readOne(drizzle, and(eq(proposals.principalId, principalId), eq(proposals.commandId, commandId)))

async function readOne(drizzle: Drizzle, condition: SQL | undefined): Promise<Proposal | undefined> {
  const select = drizzle.select({ proposal: sql<ProposalRow>`to_json(proposals)` })
  const [row] = await select.from(proposals).where(condition)
  return row && proposalOfRow(row.proposal)
}

/** See `DealRepository.propose`. */
export async function writeProposal(
  database: Database,
  proposal: Proposal,
  commit: DealCommit | undefined,
): Promise<'committed' | 'version-lost'> {
  try {
    await database.transaction(async (transaction) => {
      await requireRoom(transaction, proposal)
      await transaction.insert(proposals).values({ ...proposal, params: { ...proposal.params } })
      if (commit && !(await isWritten(transaction, commit))) throw new OvertakenError()
    })
    return 'committed'
  } catch (error) {
    if (error instanceof OvertakenError || isDuplicate(error)) return 'version-lost'
    throw error
  }
}

/** Rolls the transaction back. */
class OvertakenError extends Error {}

async function isWritten(transaction: Drizzle, commit: DealCommit): Promise<boolean> {
  const { bucket, deals, events } = rowsOfCommits([{ ...commit, bucket: bucketOf(commit.deal.id) }])
  const written = await transaction
    .select({ id: sql<string>`id` })
    .from(sql`deals.commit(${bucket}::text::smallint, ${deals}::text, ${events}::text, '[]', '[]')`)
  return written.length > 0
}

/** @throws ProblemError `too-many-proposals` */
async function requireRoom(transaction: Drizzle, { principalId, proposedAt }: Proposal): Promise<void> {
  const [row] = await transaction
    .select({ count: sql<number>`count(*)::int` })
    .from(proposals)
    .leftJoin(commands, isOfProposal)
    .where(and(eq(proposals.principalId, principalId), isOpen(proposedAt)))
  if ((row?.count ?? 0) < maxOpen) return
  throw new ProblemError('too-many-proposals', `${maxOpen} proposals of yours wait already.`)
}
