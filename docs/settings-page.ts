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
  LOG_FORMAT: 'pretty on a terminal, else json',
  FORMER_SECRETS_KEYS: 'none',
  OTEL_SERVICE_NAME: 'keyhold-auth, keyhold-deal',
  WEBHOOK_ALLOWED_NETWORKS: 'none',
}

const shown = (fallback: unknown): string =>
  typeof fallback === 'object' && fallback !== null && 'count' in fallback && 'seconds' in fallback
    ? `${fallback.count}/${fallback.seconds}`
    : String(fallback)

const row = (name: string, { fallback, expected, meaning }: Setting<unknown>): string =>
  `| \`${name}\` | ${shownDefaults[name] ?? (fallback === undefined ? 'none' : shown(fallback))} | ${expected} | ${meaning} |`

const table = (settings: Settings): string =>
  [
    '| variable | default | expected | meaning |',
    '|---|---|---|---|',
    ...Object.entries(settings).map(([name, setting]) => row(name, setting)),
  ].join('\n')

const only = (settings: Settings, other: Settings, inBoth: boolean): Settings =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => name in other === inBoth))

/** The page as it should be. */
export const settingsPage = (): string => `# Settings

Environment variables, all checked at start: every problem is listed at once, by name, and the process ends with exit code 2. In production
(\`NODE_ENV=production\`) embedded defaults, generated secrets and demo data are refused, each by name. This page is written by \`npm run docs\`.

## Both servers

${table(only(authSettings, dealSettings, true))}

## Auth server

${table(only(authSettings, dealSettings, false))}

## Deal server

${table(only(dealSettings, authSettings, false))}

## Operators' tool

Beside the settings of the auth server:

${table(operatorSettings)}
`

if (process.argv[1] === import.meta.filename) writeFileSync(path, settingsPage())
