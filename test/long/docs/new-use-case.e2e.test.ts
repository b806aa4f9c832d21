/** docs/new-use-case.md, step by step, in a copy of the project. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { asApplication, sendMessage } from '../../support/clients/tool-calls.ts'
import { answering, startScript } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { preparedKeysDir } from '../../support/processes/prepared-keys.ts'
import { passwordOf, testServer } from '../../support/worlds/stack.ts'

const root = join(import.meta.dirname, '../../..')
const folder = mkdtempSync(join(tmpdir(), 'keyhold-new-use-case-'))
const copy = join(folder, 'project')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const left = new Set(['.git', 'node_modules', 'data', 'dist', 'coverage'])
/** As a newcomer runs it: without the settings of the run that this test is part of. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TEST_')))
const bash = (script: string) => promisify(execFile)('bash', ['-euc', script], { cwd: copy, env })

it('leads to a use case that is granted, called and in the history', { timeout: 900_000 }, async () => {
  cpSync(root, copy, { recursive: true, filter: (source) => !left.has(relative(root, source)) })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  const page = readFileSync(join(copy, 'docs/new-use-case.md'), 'utf8')
  const blocks = [...page.matchAll(/^```(sh|ts)(?: (\S+))?\n(.*?)^```/gms)]
  const calls = blocks.pop()?.[3] ?? ''
  expect(blocks.length).toBeGreaterThan(3)
  for (const [, , file, text = ''] of blocks) {
    if (file === undefined) await bash(text)
    else writeFileSync(join(copy, file), text)
  }
  const [auth, deal] = [testServer(await freePort()), testServer(await freePort())]
  const environment = {
    AUTH_PORT: String(auth.port),
    DEAL_PORT: String(deal.port),
    DATA_DIR: join(folder, 'data'),
    KEYS_DIR: await preparedKeysDir(),
  }
  const child = startScript('start', { environment, workingDirectory: copy })
  try {
    await answering(`${deal.url}/readyz`, child)
    const { stdout } = await bash(
      calls.replace('127.0.0.1:4000', `127.0.0.1:${auth.port}`).replace('127.0.0.1:4001', `127.0.0.1:${deal.port}`),
    )
    const lines = stdout.trim().split('\n')
    expect(lines.map((line) => line.slice(-3))).toEqual(['201', '200', '201', '200', '200'])
    expect(lines[3]).toContain('"stampReason":"S-17"')
    expect(lines[4]).toContain('"type":"deal.stamped"')
    const admin = { username: 'admin', password: passwordOf('admin') }
    const { body } = await auth.send('/login', { json: admin })
    const listed = await sendMessage(deal, await asApplication(String(body.access_token)), 'tools/list')
    expect(listed.text).toContain('"name":"stamp_deal"')
  } finally {
    await child.end('SIGTERM')
  }
})
