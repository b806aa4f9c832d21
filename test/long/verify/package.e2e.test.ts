/** The package as `npm pack` makes it, in a project of its own. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../..')

/** A program as a user of the package writes it; no auth server is there. */
const program = `
import { createVerifier, Refusal, type Caller } from 'keyhold-verify'

const service = { id: '01900000-0000-7000-8000-000000000000', secret: 'x'.repeat(43) }
const verifier = createVerifier({ authServer: 'http://127.0.0.1:1', service, audience: 'urn:example:invoices' })
const request = new Request('http://127.0.0.1/invoices', { headers: { authorization: 'Bearer a.b.c' } })
const refused: unknown = await verifier
  .verify(request, { clientAddress: '127.0.0.1' })
  .then((caller: Caller) => caller.username, (error: unknown) => error)
if (refused instanceof Refusal) {
  const response = refused.toResponse()
  console.log(JSON.stringify({ status: response.status, code: refused.code, retry: response.headers.get('retry-after') }))
}
await verifier.stop()
// @ts-expect-error no such option
export const wrong = () => createVerifier({ authServer: '', service, audience: '', secret: '' })
`

/** What the examples of a module take for granted. */
const givenIn: Readonly<Record<string, string>> = {
  'keyhold-verify': 'declare const id: string, secret: string, request: Request, clientAddress: string\n',
  'keyhold-verify/hono': "import { Hono } from 'hono'\nconst app = new Hono()\n",
  'keyhold-verify/express': "import express from 'express'\nconst app = express()\n",
  'keyhold-verify/fastify': "import fastify from 'fastify'\nconst app = fastify()\n",
}

interface Example {
  readonly module: string
  readonly name: string
  readonly lines: string
}

/** The examples in the comments of the package. */
function examplesInComments(): Example[] {
  const source = join(root, 'verify/src')
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const example =
    /@example\n \* ```ts\n((?: \* ?.*\n)+?) \* ```\n \*\/\nexport (?:async )?(?:const|function\*?|class) (\w+)/g
  return files.flatMap((file) => {
    const module = file.startsWith('adapters/') ? `keyhold-verify/${basename(file, '.ts')}` : 'keyhold-verify'
    const found = readFileSync(join(source, file), 'utf8').matchAll(example)
    return [...found].map(([, lines = '', name = '']) => ({ module, name, lines: lines.replace(/^ \* ?/gm, '') }))
  })
}

/** A module for the example: a function that has it as its body. */
function exampleProgram({ module, name, lines }: Example): string {
  const names = [...new Set([name, 'createVerifier', 'Refusal'])].filter((one) => lines.includes(one))
  const ofModule = names.filter((one) => module !== 'keyhold-verify' || one)
  return `import { ${ofModule.join(', ')} } from '${module}'
import type { Verifier } from 'keyhold-verify'
${givenIn[module]}
${lines.includes('const verifier') ? '' : 'declare const verifier: Verifier'}
export async function example(): Promise<unknown> {\n${lines}\nreturn undefined\n}`
}

const readmeProgram = (): string =>
  /```ts\n(.*?)```/s.exec(readFileSync(join(root, 'verify/README.md'), 'utf8'))?.[1] ?? ''

const compilerOptions = {
  module: 'nodenext',
  target: 'es2023',
  lib: ['es2023'],
  strict: true,
  skipLibCheck: true,
  types: ['node'],
  outDir: 'out',
}

describe('the package of the verifier', () => {
  let folder: string
  let installed: string[]

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'keyhold-verify-'))
    const pack = ['pack', '--silent', '--foreground-scripts', '--pack-destination', folder]
    await run('npm', pack, { cwd: join(root, 'verify') })
    const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? ''
    writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }')
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${tarball}`], { cwd: folder })
    installed = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))
    for (const name of ['hono', '@hono', 'express', 'fastify', '@types']) {
      symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
    }
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('needs no other package, and names the licences of what is in it', () => {
    expect(installed).toEqual(['keyhold-verify'])
    const dist = join(folder, 'node_modules/keyhold-verify/dist')
    const licences = readFileSync(join(dist, 'LICENCES.txt'), 'utf8')
    for (const name of ['jose', 'zod', 'lru-cache', 'ipaddr.js', 'structured-headers', 'uuid']) {
      expect(licences).toMatch(new RegExp(`^${name.replace('.', '[.]')}$`, 'm'))
    }
    const code = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'))
    const imported = code.flatMap((name) =>
      [...readFileSync(join(dist, name), 'utf8').matchAll(/^(?:import|export) .*?from "([^"]+)"/gm)].map(
        ([, at]) => at,
      ),
    )
    expect(imported.filter((at) => !at?.startsWith('node:') && !at?.startsWith('.') && at !== 'crypto')).toEqual([])
  })

  it('compiles with its page and its examples, and runs', async () => {
    const examples = examplesInComments()
    expect(examples.map(({ module, name }) => `${module} ${name}`).sort()).toEqual([
      'keyhold-verify Refusal',
      'keyhold-verify createVerifier',
      ...['express', 'fastify', 'hono'].flatMap((name) =>
        ['authenticate', 'requireRight'].map((of) => `keyhold-verify/${name} ${of}`),
      ),
    ])
    mkdirSync(join(folder, 'examples'))
    examples.forEach((example, index) => {
      writeFileSync(join(folder, `examples/${index}.ts`), exampleProgram(example))
    })
    writeFileSync(join(folder, 'program.ts'), program)
    writeFileSync(join(folder, 'readme.ts'), readmeProgram())
    const include = ['*.ts', 'examples/*.ts']
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }))
    const compiled = await run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch((error) => error)
    expect(compiled.stdout).toBe('')
    const { stdout } = await run(process.execPath, ['out/program.js'], { cwd: folder })
    expect(JSON.parse(stdout)).toEqual({ status: 503, code: 'unavailable', retry: '1' })
  })
})
