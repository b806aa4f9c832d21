/** The second half of `npm run migrations`: writes a migration for functions whose files changed, for each server. */
import { execFileSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { functionFiles, migratedFunctions } from './sql-functions.ts'

for (const [server, config] of [
  ['auth-server', 'drizzle.auth.ts'],
  ['deal-server', 'drizzle.deals.ts'],
] as const) {
  const store = join(server, 'store')
  const migrated = migratedFunctions(store)
  const changed = [...functionFiles(store)].filter(([name, text]) => migrated.get(name) !== text)
  const [first] = changed
  if (!first) continue
  const name = changed.length === 1 ? first[0] : 'functions'
  execFileSync('drizzle-kit', ['generate', '--custom', '--config', config, '--name', name], { stdio: 'inherit' })
  const made = readdirSync(join(store, 'migrations'))
    .filter((file) => file.endsWith(`_${name}.sql`))
    .sort()
    .at(-1)
  if (made === undefined) throw new Error(`drizzle-kit made no migration ${name}`)
  const texts = changed.map(([, text]) => text.trimEnd())
  writeFileSync(join(store, 'migrations', made), `${texts.join('\n--> statement-breakpoint\n')}\n`)
}
