/**
 * The operators' tool: `npm run ops -- <group> <command>`. Exit codes: 0 done, 1 refused with the reason, 2 wrong usage or settings.
 * `--json` prints one JSON value for scripts.
 */
import { Command } from 'commander'
import { systemClock } from '../../shared/clock.ts'
import { createIdSource } from '../../shared/ids.ts'
import { requireSettings } from '../../shared/process.ts'
import { readOperatorConfig } from '../config.ts'
import { createPasswordHashing } from '../passwords/password-hashing.ts'
import { createWithAdmin } from './admin-client.ts'
import { addApiKeyCommands } from './api-keys.ts'
import { addAuditCommands } from './audit.ts'
import { createOpenAuthData } from './auth-data.ts'
import { createAsk } from './http-client.ts'
import { addKeyCommands } from './keys.ts'
import { createOutcome } from './outcome.ts'
import { addRecovery } from './recovery.ts'
import { addSecretCommands } from './secrets.ts'
import { addSessionCommands } from './sessions.ts'
import { createTerminal } from './terminal.ts'
import { addUserCommands } from './users.ts'

const { config, problems } = readOperatorConfig()
requireSettings(problems)

const program = new Command('ops')
  .description(
    'Keyhold for operators. The settings are those of the servers: run it where they run, with their environment.',
  )
  .option('--json', 'print one JSON value')
  .showHelpAfterError()
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))

const clock = systemClock
const ids = createIdSource(clock)
const terminal = createTerminal({ input: process.stdin, output: process.stderr })
const { report, print, warn, interrupted } = createOutcome(() => program.opts().json === true)
const withAdmin = createWithAdmin({
  ask: createAsk({ authUrl: config.authUrl, fetch: globalThis.fetch }),
  admin: config.admin,
  terminal,
})
const openAuthData = createOpenAuthData(config)

addKeyCommands(program, {
  operation: { ...config.keyRing, clock },
  authUrl: config.authUrl,
  fetch: globalThis.fetch,
  report,
})
const users = addUserCommands(program, { withAdmin, terminal, ids, report })
addRecovery(users, {
  openAuthData,
  clock,
  ids,
  hashing: { hash: (password) => createPasswordHashing({ concurrency: 1 }).hash(password) },
  report,
})
addApiKeyCommands(program, { withAdmin, clock, report })
addSessionCommands(program, { withAdmin, report })
addAuditCommands(program, { withAdmin, openAuthData, report, print, warn, interrupted })
addSecretCommands(program, { openAuthData, ids, clock, report })

await program.parseAsync()
