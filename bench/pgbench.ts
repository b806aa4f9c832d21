/**
 * The floor of writes: pgbench runs the statement that the repository sends for one commit. Each client has its own
 * deal.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPostgresBinaries } from '../test/support/processes/postgres-server.ts'
import type { Subject } from './compare.ts'
import { NotPossible } from './environment.ts'
import { type CommitTemplates, commitFor, statementOf } from './one-commit.ts'
import { dealId } from './requests.ts'

const execute = promisify(execFile)

/** Placeholders for the versions and the id in the statement: they are easy to find in its text. */
const placeholder = { version: 1_111_111_110, id: 'deadbeef-0000-7000-8000-000000000000' }

/** Commits by pgbench. `newDeals(count)` reserves unchanged deals and returns the number of the first. */
export async function pgbenchCommits(
  url: string,
  {
    clients,
    newDeals,
    templates,
  }: { clients: number; newDeals: (count: number) => number; templates: CommitTemplates },
): Promise<Subject> {
  const pgbench = await findPgbench()
  const { script, variables } = await scriptFor(templates)
  return {
    name: `pgbench, ${clients} clients, one commit each`,
    turn: async (seconds) => {
      const folder = mkdtempSync(join(tmpdir(), 'keyhold-pgbench-'))
      try {
        const file = join(folder, 'hold-unhold.sql')
        writeFileSync(file, script)
        const options = ['-n', '-M', 'prepared', '-c', String(clients), '-j', '2', '-T', String(seconds), '-f', file]
        const defined = { ...variables, base: newDeals(clients), version: 0 }
        const defines = Object.entries(defined).map(([name, value]) => `--define=${name}=${value}`)
        const { stdout } = await execute(pgbench, [...options, ...defines, url])
        const [, scripts] = /tps = ([\d.]+)/.exec(stdout) ?? []
        if (scripts === undefined) throw new Error(`pgbench reports no rate: ${stdout}`)
        return { perSecond: 2 * Number(scripts) }
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
  }
}

/**
 * The script with both commits. Their parameters are variables, into which each client inserts its deal and versions.
 */
async function scriptFor(templates: CommitTemplates): Promise<{ script: string; variables: Record<string, string> }> {
  const variables: Record<string, string> = {}
  const parts = ['\\set deal :base + :client_id']
  for (const [name, template] of Object.entries(templates)) {
    const { text, parameters } = await statementOf(commitFor(template, placeholder))
    const filledIn = text.replace(/\$(\d+)/g, (_, number: string) => {
      variables[`${name}${number}`] = String(parameters[Number(number) - 1])
      return filled(`${name}${number}`)
    })
    parts.push('\\set version :version + 1', '\\set next :version + 1', `${filledIn};`)
  }
  return { script: `${parts.join('\n')}\n`, variables }
}

/** SQL that replaces the placeholders with the deal and the versions of this client. */
function filled(variable: string): string {
  const { version, id } = placeholder
  const ownId = `'${dealId(0).slice(0, 24)}' || lpad(to_hex((:deal)::bigint), 12, '0')`
  const values = [`'${id}', ${ownId}`, `'${version}', (:version)::text`, `'${version + 1}', (:next)::text`]
  return values.reduce((sql, pair) => `replace(${sql}, ${pair})`, `:${variable}`)
}

async function findPgbench(): Promise<string> {
  const beside = join(findPostgresBinaries() ?? '/', 'pgbench')
  const candidates = ['pgbench', ...(existsSync(beside) ? [beside] : [])]
  for (const candidate of candidates) {
    const works = await execute(candidate, ['--version']).then(
      () => true,
      () => false,
    )
    if (works) return candidate
  }
  throw new NotPossible('The floor of writes needs pgbench, which comes with the PostgreSQL server.')
}
