/** pgbench, which comes with the PostgreSQL server. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPostgresBinaries } from '../../test/support/processes/stores/postgres-server.ts'
import { NotPossible } from './environment.ts'

const execute = promisify(execFile)

/** A run of pgbench. */
export interface PgbenchRun {
  readonly url: string
  /** The file with the script. */
  readonly script: string
  readonly clients: number
  readonly seconds: number
  /** Variables of the script. */
  readonly variables: Readonly<Record<string, number>>
}

/** Runs a script over and over. Returns how often it ran, in all and in a second. */
export async function runPgbench({ url, script, clients, seconds, variables }: PgbenchRun) {
  const options = [
    '-n',
    '-M',
    'prepared',
    '-c',
    String(clients),
    '-j',
    '2',
    '-T',
    String(Math.ceil(seconds)),
    '-f',
    script,
  ]
  const defines = Object.entries(variables).map(([name, value]) => `--define=${name}=${value}`)
  const { stdout } = await execute(await findPgbench(), [...options, ...defines, url])
  const [, count] = /transactions actually processed: (\d+)/.exec(stdout) ?? []
  const [, perSecond] = /tps = ([\d.]+)/.exec(stdout) ?? []
  if (count === undefined || perSecond === undefined) throw new Error(`pgbench reports no rate: ${stdout}`)
  return { runs: Number(count), perSecond: Number(perSecond) }
}

let found: string | undefined

async function findPgbench(): Promise<string> {
  if (found !== undefined) return found
  const beside = join(findPostgresBinaries() ?? '/', 'pgbench')
  const candidates = ['pgbench', ...(existsSync(beside) ? [beside] : [])]
  for (const candidate of candidates) {
    const works = await execute(candidate, ['--version']).then(
      () => true,
      () => false,
    )
    if (works) {
      found = candidate
      return candidate
    }
  }
  throw new NotPossible('The floor of writes needs pgbench, which comes with the PostgreSQL server.')
}
