/** `npm run bench:peers [-- WORD…]`: installs the peers where they are missing, and compares Keyhold with them. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { compared } from '../runs/measurement.ts'
import { run } from '../runs/run.ts'
import { besideBetterAuth } from './better-auth.ts'
import { readBesideFastify, writeBesideFastify } from './fastify.ts'
import { issueBesideProvider, refreshBesideProvider } from './oidc-provider.ts'

if (!existsSync(join(import.meta.dirname, 'node_modules'))) {
  process.stderr.write('Installing the peers\n')
  execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: import.meta.dirname, stdio: ['ignore', 'ignore', 'inherit'] })
}

const measurements = {
  'read-one-deal': compared('GET of one deal (fastify + jose + pg)', readBesideFastify),
  'hold-deals': compared('HoldDeal and UnholdDeal (fastify + jose + pg)', writeBesideFastify),
  refresh: compared('refresh (oidc-provider)', refreshBesideProvider),
  'client-credentials': compared('client_credentials (oidc-provider)', issueBesideProvider),
  session: compared('GET with a session (better-auth)', besideBetterAuth),
}
const results = new URL('results.jsonl', import.meta.url)
await run({ name: 'npm run bench:peers', measurements, results }, process.argv.slice(2))
