/** `ops users recover-admin`. Users are administered by `keyhold api`. */
import type { Command } from 'commander'
import type { Report } from '../../../shared/platform/terminal/report.ts'
import type { OpsSystems } from '../offline/ops-systems.ts'
import { withExample, withText } from '../terminal/help.ts'

/** Adds the group to the program. */
export function addRecovery(program: Command, ports: OpsSystems): void {
  const users = program.command('users').description('users, when nobody can log in')
  const command = users
    .command('recover-admin')
    .description('when no administrator can log in any more: make one, or let one in again, with a new password')
    .option('--user <username>', 'who', 'admin')
    .action(ports.report(({ user }: { user: string }) => recover(ports, user)))
  withText(
    command,
    'Works offline, on the database of the auth server: AUTH_DATABASE_URL (servers may run, and follow within a\n' +
      'second), or the embedded one in DATA_DIR, while no server has it open. Needs SECRETS_KEY, for the audit log.\n' +
      'The user keeps its other roles. Its logins end, and its second factors are removed.',
  )
  withExample(command, 'users recover-admin', 'users recover-admin --user erin')
}

const recover = (ports: OpsSystems, user: string): Promise<Report> =>
  ports.openAuthData(async (data) => {
    const { recoverAdmin } = await import('../offline/recover-admin.ts')
    const admin = await recoverAdmin({ ...ports, ...data }, user)
    const done = admin.created ? 'was made' : 'is let in, as an administrator'
    const text = `The user ${admin.username} ${done}.\nPassword, shown only now: ${admin.password}`
    return { json: admin, text }
  })
