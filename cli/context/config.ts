/** The environment of the command line for callers (docs/contract/operators.md#command-line). The only reader of it. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { withoutLineEnd } from '../../shared/platform/terminal/options.ts'

/** The settings of the command line. */
export interface CallerConfig {
  /** Where logins are kept: a folder for each profile. */
  readonly folder: string
  /** KEYHOLD_PROFILE. */
  readonly profile: string
  /** KEYHOLD_AUTH_URL: the auth server of a new login. */
  readonly authUrl: string
  /** KEYHOLD_DEAL_URL: the deal server of a new login. */
  readonly dealUrl: string
  /** KEYHOLD_USER: who logs in. */
  readonly username: string | undefined
  /** KEYHOLD_PASSWORD, with the spaces around it, and without a line break at its end. */
  readonly password: string | undefined
  /** KEYHOLD_CODE: a one-time code or a recovery code. */
  readonly code: string | undefined
}

/** The variables of the environment, beside those that say where the settings of programs are. */
export const callerVariables = [
  'KEYHOLD_PROFILE',
  'KEYHOLD_AUTH_URL',
  'KEYHOLD_DEAL_URL',
  'KEYHOLD_USER',
  'KEYHOLD_PASSWORD',
  'KEYHOLD_CODE',
] as const

/** Reads the settings. */
export function readCallerConfig(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): CallerConfig {
  const text = (name: (typeof callerVariables)[number] | 'HOME' | 'XDG_CONFIG_HOME'): string | undefined =>
    environment[name]?.trim() || undefined
  return {
    folder: join(text('XDG_CONFIG_HOME') ?? join(text('HOME') ?? homedir(), '.config'), 'keyhold'),
    profile: text('KEYHOLD_PROFILE') ?? 'default',
    authUrl: text('KEYHOLD_AUTH_URL') ?? 'http://127.0.0.1:4000',
    dealUrl: text('KEYHOLD_DEAL_URL') ?? 'http://127.0.0.1:4001',
    username: text('KEYHOLD_USER'),
    password: withoutLineEnd(environment.KEYHOLD_PASSWORD ?? '') || undefined,
    code: text('KEYHOLD_CODE'),
  }
}
