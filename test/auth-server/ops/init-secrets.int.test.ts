import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'keyhold-secrets-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const script = join(import.meta.dirname, '../../../auth-server/ops/init-secrets.ts')
const run = (...parameters: string[]) =>
  spawnSync(process.execPath, ['--import', 'tsx', script, ...parameters], { encoding: 'utf8' })

const read = (file: string) => readFileSync(join(folder, file), 'utf8')
const mode = (file: string) => (statSync(join(folder, file)).mode & 0o777).toString(8)
const files = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))

it('makes keys and secrets once, and completes what a run that was cut off left', () => {
  expect(run(folder, 'postgres:5432').status).toBe(0)
  const first = new Map(files().map((file) => [file, read(file)]))
  expect(first.get('deal/SERVICE_SECRET')).toBe(first.get('auth/SERVICE_SECRET'))
  const authUrl = `postgres://auth:${first.get('database/AUTH_PASSWORD')}@postgres:5432/auth`
  expect(first.get('auth/AUTH_DATABASE_URL')).toBe(authUrl)
  expect(first.get('deal/DEAL_DATABASE_URL')).toContain(first.get('database/DEALS_PASSWORD'))
  expect([...first.keys()].filter((file) => file.startsWith('auth/keys/'))).toHaveLength(3)

  rmSync(join(folder, 'deal/SERVICE_SECRET'))
  expect(run(folder, 'elsewhere:5432').status).toBe(0)
  expect(new Map(files().map((file) => [file, read(file)]))).toEqual(first)
})

it("leaves each server's secrets to their owner, and the database's to whoever is shown that folder", () => {
  expect(mode('auth')).toBe('700')
  for (const file of files()) expect([file, mode(file)]).toEqual([file, file.startsWith('database/') ? '444' : '600'])
})

it('says how it is used', () => {
  const { status, stderr } = run(folder)
  expect([status, stderr]).toEqual([2, 'Usage: init-secrets FOLDER DATABASE_HOST\n'])
})
