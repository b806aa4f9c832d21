import { type Command, Option } from 'commander'
import type { IdSource } from '../../../shared/platform/ids.ts'
import { WrongUsage } from '../../../shared/platform/terminal/report.ts'
import type { Terminal } from '../../../shared/platform/terminal/terminal.ts'

/**
 * Options that say where a new password comes from. Without them it is generated. It is never an argument, because
 * other users of the machine can see the command line.
 */
export interface NewPasswordOptions {
  readonly passwordStdin?: boolean
  readonly askPassword?: boolean
}

/** Adds these options to a command. */
export const withNewPassword = (command: Command): Command =>
  command
    .addOption(new Option('--password-stdin', 'read the password from standard input').conflicts('askPassword'))
    .option('--ask-password', 'ask for the password at the terminal; otherwise one is generated and shown once')

/** A new password. `isGenerated`: the operator does not know it yet. */
export interface NewPassword {
  readonly password: string
  readonly isGenerated: boolean
}

/** Reads or generates a new password. @throws WrongUsage, Interrupted */
export async function newPassword(
  { passwordStdin = false, askPassword = false }: NewPasswordOptions,
  { terminal, ids }: { terminal: Terminal; ids: IdSource },
): Promise<NewPassword> {
  if (passwordStdin) return { password: required(await terminal.readAll()), isGenerated: false }
  if (!askPassword) return { password: ids.secret(18), isGenerated: true }
  if (!terminal.isInteractive) throw new WrongUsage('There is no terminal to ask at: use --password-stdin.')
  const password = required(await terminal.askHidden('New password: '))
  if ((await terminal.askHidden('The same again: ')) === password) return { password, isGenerated: false }
  throw new WrongUsage('The two passwords differ; nothing was changed.')
}

function required(password: string): string {
  if (password === '') throw new WrongUsage('There is no password on standard input.')
  return password
}
