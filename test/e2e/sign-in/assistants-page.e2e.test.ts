/** `docs/assistants.md`, pasted. */
import { execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signedInBrowser } from '../../support/clients/sign-in/applications.ts'
import { hiddenFields } from '../../support/clients/sign-in/browser.ts'
import { asApplication, asReply, sendMessage } from '../../support/clients/tool-calls.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'
import { makeTwin, sendAs } from '../../support/worlds/twins.ts'

const root = join(import.meta.dirname, '../../..')
const page = readFileSync(join(root, 'docs/assistants.md'), 'utf8')
const [script = '', proposing = '', approving = ''] = [...page.matchAll(/^```sh\n(.*?)^```/gms)].map(
  ([, block = '']) => block,
)
const [, program = ''] = /^```js\n(.*?)^```/ms.exec(page) ?? []

let stack: Stack
let folder: string
/** Where the assistant listens. */
let shop: string

describeEmbedded('the page about assistants', (openBackend) => {
  beforeAll(async () => {
    // The assistant finds the deal server where it says that it is.
    const port = String(await freePort())
    stack = await openStack(openBackend, {
      environment: { DEAL_PORT: port, DEAL_PUBLIC_ORIGIN: `http://127.0.0.1:${port}` },
    })
    folder = mkdtempSync(join(tmpdir(), 'keyhold-assistants-'))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    shop = `http://127.0.0.1:${await freePort()}`
    await paste(script.replace('http://127.0.0.1:4005', shop))
  })
  afterAll(async () => {
    await stack.close()
    rmSync(folder, { recursive: true })
  })

  /** Runs a block. Blocks after the first one have its variables. */
  const paste = (block: string) => {
    const ofStack = block
      .replace('http://127.0.0.1:4000', stack.auth.url)
      .replace('http://127.0.0.1:4001', stack.deal.url)
    const env = { ...process.env, AUTH: stack.auth.url }
    return promisify(execFile)('bash', ['-ec', ofStack], { cwd: folder, env })
  }

  it('connects an assistant that lists tools and deals', async () => {
    await makeTwin(sendAs(stack.deal, (await stack.logIn('alice')).access), 'OPEN')
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

  it('has it propose, and somebody else approves', async () => {
    const { dealId } = await makeTwin(sendAs(stack.deal, (await stack.logIn('alice')).access), 'OPEN')
    const { id: client_id } = JSON.parse(readFileSync(join(folder, 'assistant.json'), 'utf8'))
    const clerk = await asApplication((await stack.logIn('carol')).access, { client_id })
    const call = (name: string, values: object) =>
      sendMessage(stack.deal, clerk, 'tools/call', { name, arguments: values })
    expect(JSON.parse((await paste(proposing)).stdout)).toMatchObject({ mode: 'propose' })
    const { proposal } = await eventually(async () => {
      const { body } = asReply(await call('hold_deal', { id: dealId, reason: randomUUID() }))
      expect(body).toHaveProperty('proposal')
      return body as { proposal: { id: string } }
    })
    expect(Object.keys(proposal)).toEqual(
      Object.keys(JSON.parse(/^```json\n(.*?)^```/ms.exec(page)?.[1] ?? '').proposal),
    )
    expect(JSON.parse((await paste(approving)).stdout)).toMatchObject({
      id: proposal.id,
      result: { id: dealId, held: true },
    })
    expect(asReply(await call('get_proposal', { id: proposal.id })).body).toMatchObject({ state: 'approved' })
  })
})
