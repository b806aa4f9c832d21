/** `ops sessions …`: the logins of a user (docs/contract/operators.md#operators), over HTTP, as an administrator. */
import type { Command } from 'commander'
import type { AuthComponents } from '../../../client/src/index.ts'
import { type Report, type ReportAction, table } from '../../../shared/platform/terminal/report.ts'
import { type AdminClient, allOf, segment, type WithAdmin } from '../http/admin-client.ts'
import { withExample } from '../terminal/help.ts'

/** Services that the commands use. */
export interface SessionCommandPorts {
  readonly withAdmin: WithAdmin
  readonly report: ReportAction
}

type Login = AuthComponents['schemas']['Login']

/** Adds the group to the program. */
export function addSessionCommands(program: Command, { withAdmin, report }: SessionCommandPorts): void {
  const sessions = program.command('sessions').description("a user's cookie sessions and token logins")
  const all = sessions
    .command('list <username>')
    .description('where the user is logged in')
    .action(report((username: string) => withAdmin((admin) => list(admin, username))))
  withExample(all, 'sessions list erin')
  const one = sessions
    .command('end <username> <id>')
    .description('end one of them, within a second; `users logout` ends all')
    .action(report((username: string, id: string) => withAdmin((admin) => end(admin, username, id))))
  withExample(one, 'sessions end erin 0199a2f0-5d1e-7c3a-9f00-2b6a1d9c4e11')
}

async function list({ auth }: AdminClient, username: string): Promise<Report> {
  const params = { path: { username: segment(username) } }
  const logins = await allOf(auth.items('/users/{username}/sessions', { params }))
  return { json: logins, text: table(titles, logins.map(rowOf)) }
}

const titles = ['ID', 'KIND', 'CREATED', 'LAST USED', 'EXPIRES', 'ADDRESS', 'USER AGENT']

const rowOf = ({ id, kind, createdAt, lastUsedAt, expiresAt, address, userAgent, current }: Login): string[] => [
  id,
  current ? `${kind} (this one)` : kind,
  createdAt,
  lastUsedAt,
  expiresAt,
  address ?? '-',
  printable(userAgent ?? '-'),
]

/** Replaces characters that could control the terminal: clients chose this text. */
const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').slice(0, 60)

async function end({ auth }: AdminClient, username: string, id: string): Promise<Report> {
  const path = { username: segment(username), id: segment(id) }
  await auth.DELETE('/users/{username}/sessions/{id}', { params: { path } })
  return { json: { username, id, ended: true }, text: `The login ${id} of ${username} has ended.` }
}
