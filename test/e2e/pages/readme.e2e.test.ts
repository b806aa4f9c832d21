import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { answering, startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { preparedKeysDir } from '../../support/processes/prepared-keys.ts'
import { testServer } from '../../support/worlds/stack.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'keyhold-readme-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/**
 * The calls of README.md in their order, one shell script; the commands that start and test everything are left out.
 */
const calls = (): string => {
  const readme = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8')
  const blocks = [...readme.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block)
  return blocks.filter((block) => !block.startsWith('npm ')).join('\n')
}

it('answers every call of the README as the README says, pasted one after the other', async () => {
  const [auth, deal] = [testServer(await freePort()), testServer(await freePort())]
  const environment = {
    AUTH_PORT: String(auth.port),
    DEAL_PORT: String(deal.port),
    DATA_DIR: join(folder, 'data'),
    KEYS_DIR: await preparedKeysDir(),
  }
  const child = startChild('start.ts', { environment })
  try {
    await answering(`${deal.url}/readyz`, child)
    const script = calls()
      .replaceAll('127.0.0.1:4000', `127.0.0.1:${auth.port}`)
      .replaceAll('127.0.0.1:4001', `127.0.0.1:${deal.port}`)
      .replaceAll('data/demo.json', join(environment.DATA_DIR, 'demo.json'))
      // What was written is sent at once; on a slow machine that is not within the two seconds of the page.
      .replaceAll('--max-time 2', '--max-time 6')
    const { stdout } = await run('bash', ['-euc', script])
    const statuses = [...stdout.matchAll(/(?:^|[}\]])(\d{3})$/gm)].map(([, status]) => status)
    expect(statuses.join(' ')).toBe(
      [
        '200 200 200 200 201 201 200 200 200 200',
        '201 200 200 200 200',
        // Key-signed, the last one without its password; session; Basic; Digest; signed, the last one a second time.
        '200 200 401',
        '200 200',
        '200 200',
        '200 200',
        '200 200 401',
      ].join(' '),
    )
    expect(stdout).toContain('event: deal.held')
    expect(stdout).toMatch(/"action":"session\.\w+"/)
    for (let style = 1; style <= 7; style += 1) expect(stdout).toContain(`${style}: `)
    expect(stdout.match(/"status":(4|5)\d\d/g)).toEqual(['"status":401', '"status":401', '"status":403'])
  } finally {
    await child.end('SIGTERM')
  }
}, 240_000)
