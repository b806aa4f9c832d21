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

/** The calls of a page in their order; the commands that start and test everything are left out. */
function callsOf(page: string): string {
  const text = readFileSync(join(import.meta.dirname, '../../..', page), 'utf8')
  const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block)
  return blocks.filter((block) => !block.startsWith('npm ')).join('\n')
}

/** What calls print: the statuses that stand at the end of a line, and the statuses of problems. */
const statusesIn = (printed: string): string =>
  [...printed.matchAll(/(?:^|[}\]])(\d{3})$/gm)].map(([, status]) => status).join(' ')
const problemsIn = (printed: string): string[] => printed.match(/"status":(4|5)\d\d/g) ?? []

it('answers every call of the README, of docs/calls.md and of docs/schemes.md as they say, pasted in this order', async () => {
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
    const script = ['README.md', 'docs/calls.md', 'docs/schemes.md']
      .map(callsOf)
      .join("\necho '-- next page --'\n")
      .replaceAll('127.0.0.1:4000', `127.0.0.1:${auth.port}`)
      .replaceAll('127.0.0.1:4001', `127.0.0.1:${deal.port}`)
      .replaceAll('data/demo.json', join(environment.DATA_DIR, 'demo.json'))
      // What was written is sent at once; on a slow machine that is not within the two seconds of the page.
      .replaceAll('--max-time 2', '--max-time 6')
    // A stranger pastes a page again; what a paste of before made is in its way in no call.
    await run('bash', ['-euc', script])
    const { stdout } = await run('bash', ['-euc', script])
    const [readme = '', calls = '', schemes = ''] = stdout.split('-- next page --\n')

    expect(statusesIn(readme)).toBe('201 200 200 200 200 200 201 201 200')
    for (let style = 1; style <= 7; style += 1) expect(readme).toContain(`"reason":"${style}: `)

    expect(statusesIn(calls)).toBe('200 200 200 200 201 200 200 200 200')
    expect(calls).toContain('event: deal.held')

    // Bearer prints the deal alone. The third call of key-signed has no password, the last signature is used again.
    expect(schemes).toContain('HTTP/1.1 200 OK')
    expect(statusesIn(schemes)).toBe(['200 200 401', '200 200 401', '200 200', '200 200', '200 200'].join(' '))
    expect(schemes).toMatch(/"action":"session\.\w+"/)
    expect([readme, calls, schemes].map(problemsIn)).toEqual([[], [], ['"status":401', '"status":401', '"status":403']])
  } finally {
    await child.end('SIGTERM')
  }
})
