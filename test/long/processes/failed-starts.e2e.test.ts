import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { preparedKeysDir } from '../../support/processes/prepared-keys.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyhold-failed-'))
const file = join(folder, 'file')
writeFileSync(file, '')
const away = 'postgres://postgres@127.0.0.1:9/auth'
let common: Record<string, string>

/** The steps that a start tells before it fails: each on a line of its own, with an ellipsis. */
const steps = /^\w.* …\n/gm

/** What a start says that fails, without its steps, and how it ends. */
async function failed(environment: Readonly<Record<string, string>>, script = 'start.ts') {
  const child = startChild(script, { environment: { ...common, ...environment } })
  const code = await child.ended()
  return { code, output: child.output().replace(steps, '') }
}

/** A folder for DATA_DIR with this file in it. */
function dataWith(path: string, text: string): string {
  const dataDir = mkdtempSync(join(folder, 'data-'))
  mkdirSync(join(dataDir, path, '..'), { recursive: true })
  writeFileSync(join(dataDir, path), text)
  return dataDir
}

beforeAll(async () => {
  const [AUTH_PORT, DEAL_PORT] = [String(await freePort()), String(await freePort())]
  const DATA_DIR = join(folder, 'data')
  common = { AUTH_PORT, DEAL_PORT, DATA_DIR, KEYS_DIR: await preparedKeysDir(), LOG_FORMAT: 'json' }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a start that cannot be', () => {
  it.each([
    ['a data folder that is a file', { DATA_DIR: file }, `DATA_DIR: ${file} cannot be used: EEXIST: `],
    ['a key folder in a file', { KEYS_DIR: `${file}/keys` }, `KEYS_DIR: ${file}/keys cannot be used: ENOTDIR: `],
    ['a secret that a power cut left empty', { DATA_DIR: dataWith('service-secret', '') }, 'service-secret must hold '],
    ['no secrets key', { DATA_DIR: dataWith('secrets-key', 'x'.repeat(40)) }, 'SECRETS_KEY, or the file '],
    ['a damaged database', { DATA_DIR: dataWith('postgres/PG_VERSION', 'x') }, 'The embedded database in '],
  ])('says in one line what stands in its way, and exits with 2: %s', async (_name, environment, sentence) => {
    const { code, output } = await failed(environment)
    expect(output).toContain(sentence)
    expect(output.split('\n').length).toBe(2)
    expect(code).toBe(2)
  })

  it('says of a setting that is there what is wrong with it, not that it is missing', async () => {
    const wrong = { REDIS_URL: 'redis://127.0.0.1/x', AUTH_DATABASE_URL: `${away}?sslmode=no` }
    const { code, output } = await failed(wrong, 'auth-server/main.ts')
    expect(output).toMatch(/^ {2}REDIS_URL: expected redis:\/\/host:port /m)
    expect(output).toMatch(/^ {2}AUTH_DATABASE_URL: expected .* disable, prefer, require, verify-ca, verify-full$/m)
    expect(output.split('\n').length).toBe(4)
    expect(code).toBe(2)
  })
})
