/** Writes `docs/settings.md` from the settings themselves: `npm run docs`. A test holds the page against them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { authSettings, operatorSettings } from '../auth-server/config.ts'
import { dealSettings } from '../deal-server/config.ts'
import type { Setting } from '../shared/platform/settings/settings.ts'

type Settings = Readonly<Record<string, Setting<unknown>>>

const path = join(import.meta.dirname, 'settings.md')

/** What is shown for a default that is worked out or absent. */
const shownDefaults: Readonly<Record<string, string>> = {
  AUTH_PUBLIC_ORIGIN: 'own listener',
  DEAL_PUBLIC_ORIGIN: 'own listener',
  ISSUER: 'auth origin',
  AUTH_URL: 'auth origin',
  AUTH_DATABASE_URL: 'embedded in `DATA_DIR`',
  DEAL_DATABASE_URL: 'embedded in `DATA_DIR`',
  REDIS_URL: 'in-process',
  SERVICE_SECRET: 'generated in `DATA_DIR`',
  SECRETS_KEY: 'generated in `DATA_DIR`',
  HASH_CONCURRENCY: 'cores - 1, at least 1',
  TRUST_PROXY: 'none',
  AUTH_SCHEMES: 'all six',
  CORS_ORIGINS: 'none',
  TOKEN_ORIGINS: 'none',
  LOG_FORMAT: 'pretty on a terminal, else json',
  FORMER_SECRETS_KEYS: 'none',
  OTEL_SERVICE_NAME: 'keyhold-auth, keyhold-deal',
  WEBHOOK_ALLOWED_NETWORKS: 'none',
}

const shown = (fallback: unknown): string =>
  typeof fallback === 'object' && fallback !== null && 'count' in fallback && 'seconds' in fallback
    ? `${fallback.count}/${fallback.seconds}`
    : String(fallback)

/** What a server that runs alone needs. */
const needed = `
  NODE_ENV AUTH_DATABASE_URL DEAL_DATABASE_URL REDIS_URL SERVICE_SECRET SECRETS_KEY KEYS_DIR
  FIRST_PASSWORD_FILE HOST AUTH_PUBLIC_ORIGIN DEAL_PUBLIC_ORIGIN AUTH_URL
`
  .trim()
  .split(/\s+/)

/** What most installations set beside. All others are set rarely. */
const often = `
  AUTH_PORT DEAL_PORT METRICS_PORT TLS_CERT TLS_KEY TRUST_PROXY CORS_ORIGINS WORKERS DRAIN_SECONDS
  KEYS_PASSPHRASE AUTH_SCHEMES SECOND_FACTOR_ROLES ACCESS_TOKEN_TTL REFRESH_TOKEN_TTL SESSION_IDLE_TTL
  EXPIRED_TOKEN_STATUS DEFAULT_CURRENCY LOG_LEVEL OTEL_EXPORTER_OTLP_ENDPOINT
`
  .trim()
  .split(/\s+/)

const all: Settings = { ...operatorSettings, ...dealSettings, ...authSettings }

/** Which programs read a setting. */
const readersOf = (name: string): string =>
  Object.entries({ auth: authSettings, deal: dealSettings, tool: operatorSettings })
    .filter(([, settings]) => name in settings)
    .map(([reader]) => reader)
    .join(', ')

function row(name: string): string {
  const setting = all[name]
  if (setting === undefined) throw new Error(`there is no setting ${name}`)
  const { fallback, expected, meaning } = setting
  const usual = shownDefaults[name] ?? (fallback === undefined ? 'none' : shown(fallback))
  return `| \`${name}\` | ${readersOf(name)} | ${usual} | ${expected} | ${meaning} |`
}

const table = (names: readonly string[]): string =>
  ['| variable | of | default | expected | meaning |', '|---|---|---|---|---|', ...names.map(row)].join('\n')

const rarely = Object.keys(all).filter((name) => !needed.includes(name) && !often.includes(name))

/** The page as it should be. */
export const settingsPage = (): string => `# Settings

Environment variables, all checked at start: every problem is listed at once, by name, and the process ends with exit
code 2. In production (\`NODE_ENV=production\`) embedded defaults, generated secrets and demo data are refused, each by
name. This page is written by \`npm run docs\`. \`auth\` and \`deal\` are the servers, \`tool\` is the operators' tool, which
reads the settings of the auth server too.

## Needed

By servers that run alone; \`npm start\` needs none.

${table(needed)}

## Often

${table(often)}

## Rarely

${table(rarely)}
`

if (process.argv[1] === import.meta.filename) writeFileSync(path, settingsPage())
