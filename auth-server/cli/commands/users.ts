/** `ops users …`: administration of users (docs/contract/operators.md#operators), over HTTP, as an administrator. */
import { type Command, Option } from 'commander'
import type { AuthComponents } from '../../../client/src/index.ts'
import type { IdSource } from '../../../shared/platform/ids.ts'
import { list } from '../../../shared/platform/terminal/options.ts'
import { type Report, type ReportAction, table, WrongUsage } from '../../../shared/platform/terminal/report.ts'
import type { Terminal } from '../../../shared/platform/terminal/terminal.ts'
import { foldUsername } from '../../../shared/protocol/principal/record.ts'
import { type AdminClient, allOf, segment, type WithAdmin } from '../http/admin-client.ts'
import { withExample, withText } from '../terminal/help.ts'
import { type NewPasswordOptions, newPassword, withNewPassword } from '../terminal/new-password.ts'

/** Services that the commands use. */
export interface UserCommandPorts {
  readonly withAdmin: WithAdmin
  readonly terminal: Terminal
  readonly ids: IdSource
  readonly report: ReportAction
}

type User = AuthComponents['schemas']['User']

/** Adds the group to the program, and returns it, so that commands that work offline can be added. */
export function addUserCommands(program: Command, ports: UserCommandPorts): Command {
  const users = program.command('users').description('users: who there is, and what each may do')
  addCreation(users, ports)
  addReading(users, ports)
  addGrants(users, ports, 'roles')
  addGrants(users, ports, 'rights')
  addSwitches(users, ports)
  addPassword(users, ports)
  addFactorReset(users, ports)
  addPasswordReset(users, ports)
  return users
}

interface CreationOptions extends NewPasswordOptions {
  readonly role?: string[]
  readonly right?: string[]
  readonly disabled?: boolean
}

function addCreation(users: Command, ports: UserCommandPorts): void {
  const command = users
    .command('add <username>')
    .description('make a user; the password is generated and shown once, unless given')
    .option('--role <role>', 'the name of a role; may be repeated', list)
    .option('--right <right>', 'a right beside those of the roles; may be repeated', list)
    .option('--disabled', 'not let in yet')
    .action(ports.report((username: string, options: CreationOptions) => add(ports, username, options)))
  withExample(
    withNewPassword(command),
    'users add erin --role agent',
    'users add reader --role viewer --right audit.read --password-stdin < password.txt',
  )
}

const add = (ports: UserCommandPorts, username: string, options: CreationOptions): Promise<Report> =>
  ports.withAdmin(async (admin) => {
    const { password, isGenerated } = await newPassword(options, ports)
    const { role: roles = [], right: rights = [], disabled = false } = options
    const body = { username, password, roles, rights, enabled: !disabled }
    const { data: user } = await admin.auth.POST('/users', { body })
    return withPassword(reportOf(user), isGenerated ? password : undefined)
  })

function addReading(users: Command, { withAdmin, report }: UserCommandPorts): void {
  const all = users.command('list').description('all users')
  all.action(report(() => withAdmin(listAll)))
  withExample(all, 'users list', 'users list --json')
  const one = users.command('show <username>').description('one user')
  one.action(report((username: string) => withAdmin(async (admin) => reportOf(await read(admin, username)))))
  withExample(one, 'users show erin')
}

async function listAll({ auth }: AdminClient): Promise<Report> {
  const users = await allOf(auth.items('/users', { params: { query: { limit: 200 } } }))
  return { json: users, text: table(titles, users.map(rowOf)) }
}

interface GrantOptions {
  readonly add?: boolean
  readonly remove?: boolean
  readonly none?: boolean
}

function addGrants(users: Command, { withAdmin, report }: UserCommandPorts, member: 'roles' | 'rights'): void {
  const one = member === 'roles' ? 'role' : 'right'
  const values = member === 'roles' ? ['viewer', 'agent'] : ['deal.read', 'audit.read']
  const command = users
    .command(`${member} <username> [${one}...]`)
    .description(`replace the ${member === 'roles' ? 'roles' : 'direct rights'} of a user by these`)
    .addOption(new Option('--add', 'add these to those that the user has').conflicts(['remove', 'none']))
    .addOption(new Option('--remove', 'take these away, and leave the others').conflicts(['none']))
    .option('--none', `take all ${member} away`)
  command.action(
    report((username: string, given: string[], options: GrantOptions) => {
      const named = given.flatMap((value) => list(value))
      if ((named.length === 0) !== (options.none === true)) {
        throw new WrongUsage(`Name the ${member}, or give --none to take all of them away.`)
      }
      return withAdmin((admin) => grant(admin, { username, member, given: named, options }))
    }),
  )
  withExample(
    command,
    `users ${member} erin ${values.join(' ')}`,
    `users ${member} erin --remove ${values[1]}`,
    `users ${member} erin --none`,
  )
}

interface Grant {
  readonly username: string
  readonly member: 'roles' | 'rights'
  readonly given: readonly string[]
  readonly options: GrantOptions
}

async function grant(admin: AdminClient, { username, member, given, options }: Grant): Promise<Report> {
  const before = options.add || options.remove ? (await read(admin, username))[member] : []
  const after = options.remove ? before.filter((value) => !given.includes(value)) : [...before, ...given]
  return reportOf(await patch(admin, username, { [member]: [...new Set(after)] }))
}

function addSwitches(users: Command, { withAdmin, report }: UserCommandPorts): void {
  const turn = (enabled: boolean) =>
    report((username: string) => withAdmin(async (admin) => reportOf(await patch(admin, username, { enabled }))))
  const enable = users.command('enable <username>').description('let a user in again')
  withExample(enable.action(turn(true)), 'users enable erin')
  const disable = users
    .command('disable <username>')
    .description('shut a user out everywhere: every login, token and session ends within a second, API keys rest')
  withExample(disable.action(turn(false)), 'users disable erin')
  const unlock = users
    .command('unlock <username>')
    .description('let a user try again who is locked out by failed attempts; logins and sessions go on')
    .action(report((username: string) => withAdmin((admin) => endLock(admin, username))))
  withExample(unlock, 'users unlock erin')
  const logout = users
    .command('logout <username>')
    .description('end every login, token and session of a user; the password, the API keys and the Digest secret stay')
    .option('--everything', 'end the API keys and the Digest secret too; the password alone stays')
  logout.action(
    report((username: string, options: LogoutOptions) =>
      withAdmin((admin) => logOutEverywhere(admin, username, options)),
    ),
  )
  withExample(logout, 'users logout erin', 'users logout erin --everything')
}

function addFactorReset(users: Command, { withAdmin, report }: UserCommandPorts): void {
  const command = users
    .command('reset-second-factors <username>')
    .description("remove the second factors and recovery codes of a user who has lost them; the user's logins end")
    .action(report((username: string) => withAdmin((admin) => resetFactors(admin, username))))
  withExample(command, 'users reset-second-factors erin')
}

async function resetFactors(admin: AdminClient, username: string): Promise<Report> {
  const body = { password: admin.password }
  await admin.auth.DELETE('/users/{username}/second-factors', { params: paramsOf(username), body })
  return { json: { username, secondFactors: [] }, text: `${username} has no second factor any more.` }
}

async function endLock({ auth }: AdminClient, username: string): Promise<Report> {
  const params = paramsOf(username)
  const { data: lock } = await auth.GET('/users/{username}/lock', { params })
  await auth.DELETE('/users/{username}/lock', { params })
  const text = lock.lockedUntil === null ? 'No attempt was refused' : `The lock until ${lock.lockedUntil} has ended`
  return { json: { username, ...lock }, text: `${text}: failures of ${username} begin anew.` }
}

interface LogoutOptions {
  readonly everything?: boolean
}

async function logOutEverywhere({ auth }: AdminClient, username: string, options: LogoutOptions): Promise<Report> {
  const everything = options.everything === true
  const query = { everything: everything ? 'true' : 'false' } as const
  await auth.POST('/users/{username}/logout', { params: { ...paramsOf(username), query } })
  const ended = everything
    ? `All logins, tokens, sessions, API keys and the Digest secret of ${username} have ended.`
    : `Every login, token and session of ${username} has ended.`
  return { json: { username, loggedOut: true, everything }, text: ended }
}

function addPassword(users: Command, ports: UserCommandPorts): void {
  const command = users
    .command('password <username>')
    .description("give a user a new password, generated and shown once unless given; the user's logins end")
    .action(ports.report((username: string, options: NewPasswordOptions) => setPassword(ports, username, options)))
  withExample(
    withNewPassword(command),
    'users password erin',
    'users password erin --ask-password',
    'users password erin --password-stdin < password.txt',
  )
}

const setPassword = (ports: UserCommandPorts, username: string, options: NewPasswordOptions): Promise<Report> =>
  ports.withAdmin(async (admin) => {
    const { password, isGenerated } = await newPassword(options, ports)
    const isSelf = foldUsername(username) === foldUsername(admin.username)
    const body = { newPassword: password, ...(isSelf ? { oldPassword: admin.password } : {}) }
    await admin.auth.PUT('/users/{username}/password', { params: paramsOf(username), body })
    const report = { json: { username }, text: `The password of ${username} was changed.` }
    return withPassword(report, isGenerated ? password : undefined)
  })

function addPasswordReset(users: Command, { withAdmin, report }: UserCommandPorts): void {
  const command = users
    .command('password-reset <username>')
    .description('make a link with which a user who forgot the password sets a new one: once, within an hour')
    .action(report((username: string) => withAdmin((admin) => makeReset(admin, username))))
  withText(command, 'A new link ends the former one. Whoever has the link gets the account: send it to the user alone.')
  withExample(command, 'users password-reset erin')
}

async function makeReset({ auth }: AdminClient, username: string): Promise<Report> {
  const { data: reset } = await auth.POST('/users/{username}/password-reset', { params: paramsOf(username) })
  return { json: { username, ...reset }, text: `Link, shown only now, until ${reset.expiresAt}: ${reset.link}` }
}

const paramsOf = (username: string) => ({ path: { username: segment(username) } })

const read = async ({ auth }: AdminClient, username: string): Promise<User> =>
  (await auth.GET('/users/{username}', { params: paramsOf(username) })).data

type UserPatch = Partial<Pick<User, 'roles' | 'rights' | 'enabled'>>

const patch = async ({ auth }: AdminClient, username: string, body: UserPatch): Promise<User> =>
  (await auth.PATCH('/users/{username}', { params: paramsOf(username), body })).data

const titles = ['USER', 'ENABLED', 'ROLES', 'DIRECT RIGHTS', 'CREATED']

const rowOf = ({ username, enabled, roles, rights, createdAt }: User): string[] => [
  username,
  enabled ? 'yes' : 'no',
  roles.join(',') || '-',
  rights.join(',') || '-',
  createdAt,
]

const reportOf = (user: User) => ({ json: user, text: table(titles, [rowOf(user)]) })

/** Adds a generated password to a report. It is shown only once. */
const withPassword = ({ json, text }: { json: object; text: string }, password: string | undefined): Report =>
  password === undefined
    ? { json, text }
    : { json: { ...json, password }, text: `${text}\nPassword, shown only now: ${password}` }
