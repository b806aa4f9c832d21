/** `docs/sign-in-with-keyhold.md`, pasted. */
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { originOf, signedInBrowser } from '../../support/clients/sign-in/applications.ts'
import { eventually } from '../../support/eventually.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

const root = join(import.meta.dirname, '../../..')
const page = readFileSync(join(root, 'docs/sign-in-with-keyhold.md'), 'utf8')
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, text = '']) => text)

let stack: Stack
let folder: string

describeEmbedded('the page about signing people in', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    folder = mkdtempSync(join(tmpdir(), 'keyhold-sign-in-'))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  })
  afterAll(async () => {
    await stack.close()
    rmSync(folder, { recursive: true })
  })

  it('signs in by hand as it says', async () => {
    const script = blocks('sh')
      .join('\n')
      .replace('http://127.0.0.1:4000', stack.auth.url)
      .replace('http://127.0.0.1:4001', stack.deal.url)
    const { stdout } = await promisify(execFile)('bash', ['-ec', script], { cwd: folder })
    const lines = stdout.trim().split('\n')
    expect(JSON.parse(lines.at(-2) ?? '')).toMatchObject({ preferred_username: 'alice' })
    expect(lines.at(-1)).toBe('200')
  })

  it('has a web application that greets who has signed in', async () => {
    writeFileSync(join(folder, 'shop.mjs'), blocks('js')[0] ?? '')
    const { PATH = '' } = process.env
    const shop = spawn('node', ['shop.mjs'], { cwd: folder, env: { PATH, AUTH: stack.auth.url }, stdio: 'ignore' })
    try {
      const visit = (url: string, cookie = '') => fetch(url, { redirect: 'manual', headers: { cookie } })
      const first = await eventually(() => visit('http://127.0.0.1:4005/'))
      const visitor = first.headers.getSetCookie()[0]?.split(';', 1)[0] ?? ''
      const browser = await signedInBrowser(stack, 'alice')
      const asked = new URL(first.headers.get('location') ?? '')
      expect(asked.origin).toBe(await originOf(stack))
      const back = await browser.go(asked.href)
      expect(back.url).toContain('http://127.0.0.1:4005/callback?code=')
      const arrived = await visit(back.url, visitor)
      expect(arrived.headers.get('location')).toBe('/')
      const signedIn = arrived.headers.getSetCookie()[0]?.split(';', 1)[0] ?? ''
      expect(await (await visit('http://127.0.0.1:4005/', signedIn)).text()).toBe('Hello, alice!\n')
      // Whoever chose the cookie, or knew it before, is nobody.
      for (const known of [visitor, 'visitor=chosen']) {
        const { status, headers } = await visit('http://127.0.0.1:4005/', known)
        expect(status).toBe(303)
        expect(headers.getSetCookie()[0]).not.toContain(known)
      }
    } finally {
      shop.kill()
    }
  })
})
