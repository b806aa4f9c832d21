/** The calls of verify/README.md: a resource server, a service, a role, a user, and a token for the service. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeEmbedded } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'

const page = readFileSync(join(import.meta.dirname, '../../verify/README.md'), 'utf8')
const calls = [...page.matchAll(/^```sh\n(curl .*?)^```/gms)].map(([, block = '']) => block).join('')

describeEmbedded('the page of keyhold-verify', (openBackend) => {
  let stack: Stack
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true })
  })
  afterAll(() => stack.close())

  it('registers a service, and a user whose token is for it', async () => {
    const script = calls
      .replaceAll('https://auth.example', stack.auth.url)
      .replaceAll('curl ', "curl -s -w '\n' ")
      .replaceAll('-u admin ', '-u admin:admin-demo-password ')
    const { stdout } = await promisify(execFile)('bash', ['-euc', script])
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(answers).toMatchObject([
      { id: 'invoices' },
      { name: 'invoices-1', secret: expect.any(String) },
      { name: 'approver', rights: ['invoice.approve'] },
      { username: 'erin', roles: ['approver'] },
      { token_type: 'Bearer' },
    ])
    const [, claims = ''] = String(answers[4]?.access_token).split('.')
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({ aud: 'urn:example:invoices' })
  })
})
