/** The package as `npm pack` makes it: in a project of its own, and in a browser. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeInBrowser, openBrowser } from '../../support/clients/pages/browser.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { digestSecretOf, openStack, type Stack } from '../../support/worlds/stack.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../..')
const maxBytes = 15_700

/** A program as a user of the package writes it. */
const program = `
import { bearer, createKeyhold, isProblem, type KeyholdProblem } from 'keyhold-client'

const [authUrl = '', dealUrl = ''] = process.argv.slice(2)
const keyhold = createKeyhold({ authUrl, dealUrl, credential: bearer({ username: 'alice', password: 'alice-demo-password' }) })
const { data } = await keyhold.deals.POST('/rest/v1/deals', { body: { name: 'packed', price: 5 } })
const price: number = data.price
const params = { path: { id: data.id } }
await keyhold.deals.PUT('/rest/v1/deals/{id}/hold', { params, body: { reason: 'r' } })
const problem: KeyholdProblem | undefined = await keyhold.deals
  .PUT('/rest/v1/deals/{id}/complete', { params, body: {} })
  .then(() => undefined, (error: unknown) => (isProblem(error) ? error : undefined))
console.log(JSON.stringify({ price, code: problem?.code }))
// @ts-expect-error no such parameter
export const wrong = () => keyhold.deals.PUT('/rest/v1/deals/{id}/hold', { params, body: { reson: 'r' } })
`

/** The same in a page: every scheme that needs no key, with a command, and then an event. */
const pageProgram = (urls: object, secret: string) => `(async () => {
  const { basic, bearer, createKeyhold, digest, events, keySigned, session } = await import('/client.js')
  const user = { username: 'alice', password: 'alice-demo-password' }
  const credentials = [bearer(user), basic(user), keySigned(user), session(user),
    digest({ username: 'carol', secret: ${JSON.stringify(secret)} })]
  const types = []
  for (const credential of credentials) {
    const keyhold = createKeyhold({ ...${JSON.stringify(urls)}, credential })
    const { data } = await keyhold.deals.POST('/rest/v1/deals', { body: { name: 'by a page', price: 5 } })
    for await (const event of events(keyhold, { deal: data.id, after: '0' })) {
      types.push(event.type)
      break
    }
  }
  return types
})()`

/** All calls of the page of the package, one after the other. */
function readmeProgram({ auth, deal }: Stack): string {
  const page = readFileSync(join(root, 'client/README.md'), 'utf8')
  const blocks = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, block = '']) => block)
  return blocks.join('\n').replace('http://127.0.0.1:4000', auth.url).replace('http://127.0.0.1:4001', deal.url)
}

/** The examples in the comments of the package, by the name of what they stand at. */
function examplesInComments(): Map<string, string> {
  const source = join(root, 'client/src')
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const example = /@example\n \* ```ts\n((?: \* .*\n)+?) \* ```\n \*\/\nexport (?:async )?(?:const|function\*?) (\w+)/g
  return new Map(
    files
      .flatMap((name) => [...readFileSync(join(source, name), 'utf8').matchAll(example)])
      .map(([, lines = '', name = '']) => [name, lines.replace(/^ \* /gm, '')]),
  )
}

/** A module with a function for each example, and the names that they take for granted. */
const examplesProgram = (examples: ReadonlyMap<string, string>): string => `
import { type Keyhold, type TokenStore, ${[...examples.keys()].join(', ')} } from 'keyhold-client'

declare const keyhold: Keyhold
declare const store: TokenStore
declare const authUrl: string, dealUrl: string, password: string, token: string, id: string
declare const nextToken: () => Promise<string>
declare const signal: AbortSignal
${[...examples.values()].map((lines, index) => `export async function example${index}() {\n${lines}}`).join('\n')}
`

const compilerOptions = {
  module: 'nodenext',
  target: 'es2022',
  lib: ['es2022', 'dom'],
  strict: true,
  skipLibCheck: false,
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
  outDir: 'out',
}

describe('the package of the typed client', () => {
  let folder: string
  let stack: Stack
  let printed: string
  let pages: Awaited<ReturnType<typeof startPages>>

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'keyhold-client-'))
    pages = await startPages(() => join(folder, 'node_modules/keyhold-client/dist/index.js'))
    const pack = ['pack', '--silent', '--foreground-scripts', '--pack-destination', folder]
    const [packed, opened] = await Promise.all([
      run('npm', pack, { cwd: join(root, 'client') }),
      openStack(openEmbedded, { environment: { CORS_ORIGINS: pages.url } }),
    ])
    printed = packed.stdout
    stack = opened
    const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? ''
    writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }')
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${tarball}`], { cwd: folder })
  })

  afterAll(async () => {
    pages.close()
    await stack.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('needs no other package, and is small', () => {
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      'keyhold-client',
    ])
    const [, bytes] = /createKeyhold and bearer: (\d+) bytes minified/.exec(printed) ?? []
    expect(Number(bytes)).toBeGreaterThan(5_000)
    expect(Number(bytes)).toBeLessThan(maxBytes)
  })

  it('compiles and runs in a project of its own', async () => {
    writeFileSync(join(folder, 'program.ts'), program)
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
    writeFileSync(join(folder, 'readme.ts'), readmeProgram(stack))
    writeFileSync(join(folder, 'examples.ts'), examplesProgram(examplesInComments()))
    const compiled = await run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch((error) => error)
    expect(compiled.stdout).toBe('')
    const { stdout } = await run(process.execPath, ['out/program.js', stack.auth.url, stack.deal.url], { cwd: folder })
    expect(JSON.parse(stdout)).toEqual({ price: 5, code: 'deal-held' })
    const readme = await run(process.execPath, ['out/readme.js'], { cwd: folder })
    for (const line of ['digest alice', 'key-signed alice', 'false "3"', '422 invalid-value', 'deal123 12.50']) {
      expect(readme.stdout).toContain(line)
    }
    expect(readme.stdout).toMatch(/deal\.created.*deal\.held.*deal\.unheld/s)
  })

  it('shows an example at each of its functions', async () => {
    const all: Record<string, unknown> = await import(join(folder, 'node_modules/keyhold-client/dist/index.js'))
    const functions = Object.entries(all).filter(([, value]) => !/^class /.test(String(value)))
    expect([...examplesInComments().keys()].sort()).toEqual(functions.map(([name]) => name).sort())
  })

  describeInBrowser('in a page', () => {
    it('takes every scheme, commands and follows events', async () => {
      const browser = await openBrowser()
      try {
        const { page } = await browser.newPage()
        await page.goto(pages.url)
        const urls = { authUrl: stack.auth.url, dealUrl: stack.deal.url }
        const types = await page.evaluate(pageProgram(urls, digestSecretOf('carol')))
        expect(types).toEqual(Array(5).fill('deal.created'))
      } finally {
        await browser.close()
      }
    })
  })
})

/** A web site with an empty page, and the module that `file` names by then. */
async function startPages(file: () => string): Promise<{ readonly url: string; close(): unknown }> {
  const server = createServer((request, response) => {
    const isModule = request.url === '/client.js'
    response.writeHead(200, { 'content-type': isModule ? 'text/javascript' : 'text/html' })
    response.end(isModule ? readFileSync(file()) : '<!doctype html><link rel="icon" href="data:,"><title>page</title>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() }
}
