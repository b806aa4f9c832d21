/** `docs/assistants.md`, pasted. */
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signedInBrowser } from '../../support/clients/sign-in/applications.ts'
import { hiddenFields } from '../../support/clients/sign-in/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'
import { makeTwin, sendAs } from '../../support/worlds/twins.ts'

const root = join(import.meta.dirname, '../../..')
const page = readFileSync(join(root, 'docs/assistants.md'), 'utf8')
const [, script = ''] = /^```sh\n(.*?)^```/ms.exec(page) ?? []
const [, program = ''] = /^```js\n(.*?)^```/ms.exec(page) ?? []

let stack: Stack
let folder: string

describeEmbedded('the page about assistants', (openBackend) => {
  beforeAll(async () => {
    // The assistant finds the deal server where it says that it is.
    const port = String(await freePort())
    stack = await openStack(openBackend, {
      environment: { DEAL_PORT: port, DEAL_PUBLIC_ORIGIN: `http://127.0.0.1:${port}` },
    })
    folder = mkdtempSync(join(tmpdir(), 'keyhold-assistants-'))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  })
  afterAll(async () => {
    await stack.close()
    rmSync(folder, { recursive: true })
  })

  it('connects an assistant that lists tools and deals', { timeout: 60_000 }, async () => {
    await makeTwin(sendAs(stack.deal, (await stack.logIn('alice')).access), 'OPEN')
    const shop = `http://127.0.0.1:${await freePort()}`
    const ofStack = script.replace('http://127.0.0.1:4000', stack.auth.url).replace('http://127.0.0.1:4005', shop)
    await promisify(execFile)('bash', ['-ec', ofStack], { cwd: folder })
    writeFileSync(join(folder, 'assistant.mjs'), program)
    const { PATH = '' } = process.env
    const assistant = spawn('node', ['assistant.mjs'], { cwd: folder, env: { PATH, DEAL: stack.deal.url, SHOP: shop } })
    let printed = ''
    for (const stream of [assistant.stdout, assistant.stderr])
      stream.on('data', (text: Buffer) => {
        printed += text.toString()
      })
    const ended = new Promise((resolve) => assistant.on('exit', resolve))
    try {
      const [, url = ''] = await eventually(async () => {
        const found = /Open (\S+)/.exec(printed)
        expect(found, printed).not.toBeNull()
        return found ?? []
      })
      const browser = await signedInBrowser(stack, 'carol')
      const asked = await browser.go(url)
      expect(asked.reply.text).toContain('Let Clerk use your account?')
      const back = await browser.go('/oauth/authorize/decision', {
        ...hiddenFields(asked.reply.text),
        decision: 'allow',
      })
      expect(await (await fetch(back.url)).text()).toContain('Go back to the assistant.')
      expect(await ended, printed).toBe(0)
      const [tools, deals] = printed.trim().split('\n').slice(-2)
      expect(tools?.split(' ')).toEqual(expect.arrayContaining(['hold_deal', 'list_deals', 'get_history']))
      expect(tools).not.toContain('cancel_deal')
      expect(deals).toContain('deal')
    } finally {
      assistant.kill()
    }
  })
})
