import { describe, expect, it } from 'vitest'
import { directions } from './directions.ts'
import { maxStatements, readSource, type SourceFile, sourceFiles, testFiles, tooLong } from './source.ts'

const files = sourceFiles()
const tests = testFiles()

const maxFileLines = 400

const own = [
  'auth-server',
  'deal-server',
  'console',
  'shared',
  'verify',
  'client',
  'cli',
  'bench',
  'scripts',
  'test',
  'start.ts',
]
const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)
const isOwn = (path: string): boolean => own.some((folder) => isWithin(path, folder))

/** Each import of a file that its place does not allow. */
function wrongImports({ path, imports }: SourceFile): string[] {
  const place = Object.keys(directions).find((folder) => isWithin(path, folder))
  if (place === undefined) return [`${path} belongs to no folder that this test knows`]
  const allowed = [place, ...(directions[place] ?? [])]
  const isAllowed = (imported: string): boolean =>
    isOwn(imported)
      ? allowed.some((folder) => isWithin(imported, folder))
      : allowed.includes('*') || allowed.includes(imported)
  return imports.filter((imported) => !isAllowed(imported)).map((imported) => `${path} imports ${imported}`)
}

const linesWith = ({ path, code }: SourceFile, pattern: RegExp): string[] =>
  code.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}`] : []))

describe('the source', () => {
  it('is found', () => {
    expect(files.length).toBeGreaterThan(100)
    const pipeline = files.find(({ path }) => path === 'deal-server/http/pipeline.ts')
    expect(pipeline?.imports).toContain('shared/platform/problems/errors.ts')
    expect(files.flatMap(({ imports }) => imports)).toEqual(
      expect.arrayContaining(['hono', 'drizzle-orm', 'node:crypto']),
    )
  })

  it('imports only in the directions of the design', () => {
    expect(files.flatMap(wrongImports)).toEqual([])
  })

  it('gives the console nothing but types of the HTTP of the servers', () => {
    const ofConsole = files.filter(({ path }) => path.startsWith('console/'))
    const imported = ofConsole.flatMap(({ path, importsAtOnce: found }) =>
      found.map((name) => `${path} imports ${name}`),
    )
    expect(imported.length).toBeGreaterThan(200)
    expect(imported.filter((line) => / (?:auth|deal)-server\/http\//.test(line))).toEqual([])
  })

  it('keeps HTTP out of what the deal server decides and carries out', () => {
    const below = files.filter(({ path }) => /^deal-server\/(domain|use-cases|commands|queries)\//.test(path))
    const ofHttp = /(^|\/)http\//
    const imports = below.flatMap(({ path, imports: found }) => found.map((imported) => `${path} imports ${imported}`))
    expect(below.length).toBeGreaterThan(30)
    expect(imports.filter((line) => ofHttp.test(line))).toEqual([])
    const naming = /'(etag|location|retry-after|idempotent-\w+|if-match|if-none-match|www-authenticate|cache-control)'/i
    const text = below.filter(({ lines }) => lines.some((line) => naming.test(line)))
    expect(text.map(({ path }) => path)).toEqual([])
  })

  it('compares rights of deals in both widths: the exact comparison is of the auth server and of services', () => {
    const exact = /import\s*\{[^}]*\brequireRights\b[^}]*\}/
    const importing = files.filter(({ lines }) => exact.test(lines.join('\n'))).map(({ path }) => path)
    expect(importing.length).toBeGreaterThan(0)
    expect(importing.filter((path) => path.startsWith('deal-server/'))).toEqual([])
  })

  it(`has no file over ${maxFileLines} lines`, () => {
    const long = [...files, ...tests].filter(({ lines }) => lines.length > maxFileLines)
    expect(long.map(({ path, lines }) => `${path} has ${lines.length} lines`)).toEqual([])
  })

  it(`has no function over ${maxStatements} statements`, () => {
    expect(files.flatMap(tooLong)).toEqual([])
  })

  it('reads the environment in config.ts alone', () => {
    const readers = files.filter(
      ({ path }) => !/^(auth-server|deal-server|cli\/context)\/config\.ts$|^bench\/|^scripts\//.test(path),
    )
    expect(readers.flatMap((file) => linesWith(file, /\bprocess\s*\??\.\s*env\b|\bprocess\s*\[/))).toEqual([])
    expect(readers.filter(({ code }) => /\{[^}]*\benv\b[^}]*\}\s*=\s*process\b/.test(code))).toEqual([])
  })

  it('has one clock', () => {
    // The client is a package of its own, and scripts of pages run in browsers.
    const clocks = ['shared/platform/clock.ts', 'client/src/core/clock.ts']
    const others = files.filter(({ path }) => !clocks.includes(path) && !/^(bench|scripts)\/|\/assets\//.test(path))
    const reading = /\bDate\.now\b|\bperformance\.now\b|\bnew Date\(\)|\bDate\(\)|\bhrtime\b/
    expect(others.flatMap((file) => linesWith(file, reading))).toEqual([])
  })

  it('makes tables that last in bounded-cache.ts alone, which bounds their bytes too', () => {
    const others = files.filter(({ path }) => path !== 'shared/platform/cache/bounded-cache.ts')
    expect(others.filter(({ imports }) => imports.includes('lru-cache')).map(({ path }) => path)).toEqual([])
  })

  it('has a platform that does not name what Keyhold is about', () => {
    const platform = files.filter(({ path }) => path.startsWith('shared/platform/'))
    const meaning = /\b(?:deals?|principals?|api[- ]?keys?)\b/i
    const lines = platform.flatMap(({ path, lines }) =>
      lines.map((line, index) => ({ at: `${path}:${index + 1}`, line })),
    )
    expect(lines.filter(({ line }) => meaning.test(line)).map(({ at }) => at)).toEqual([])
  })

  it('names no header field below HTTP', () => {
    const edge =
      /^(?:auth|deal)-server\/(?:http|cli|auth-client)\/|^(?:console|shared|verify)\/|^client\/|^cli\/|^bench\/|^scripts\/|^start\.ts$/
    const below = files.filter(({ path }) => !edge.test(path))
    const field = /\bheaders\b|www-authenticate|retry-after|set-cookie/i
    const lines = below.flatMap(({ path, lines }) => lines.map((line, index) => ({ at: `${path}:${index + 1}`, line })))
    expect(below.length).toBeGreaterThan(100)
    expect(lines.filter(({ line }) => field.test(line)).map(({ at }) => at)).toEqual([])
  })

  it('has comments of at most 120 columns, the tests too', () => {
    const long = [...files, ...tests].flatMap(({ path, lines }) =>
      lines.flatMap((line, index) =>
        /^\s*(?:\/\/|\/?\*)/.test(line) && line.length > 120 ? [`${path}:${index + 1}`] : [],
      ),
    )
    expect(long).toEqual([])
  })

  it('spreads no literal into another one, the tests neither: members stand a line each', () => {
    const spread = [...files, ...tests].flatMap(({ path, spreadLiterals }) =>
      spreadLiterals.map((line) => `${path}:${line}`),
    )
    expect(spread).toEqual([])
  })

  it('has no any', () => {
    expect(files.flatMap((file) => linesWith(file, /(?:[:<|&,=] ?|\bas )any\b/))).toEqual([])
  })
})

describe('the tests', () => {
  it('wait with `eventually` or `expect.poll`: what vitest waits by itself is too short for a busy machine', () => {
    const others = tests.filter(({ path }) => path !== 'test/support/eventually.ts')
    expect(others.flatMap((file) => linesWith(file, /\bvi\.waitFor\b/))).toEqual([])
  })
})

describe('what these tests would see', () => {
  const read = (path: string, ...lines: string[]) => readSource(path, lines.join('\n'))

  it.each([
    ['deal-server/domain/deal.ts', "import { z } from 'zod'", 'zod'],
    [
      'deal-server/domain/deal.ts',
      "import { z } from '../../shared/platform/http/request.ts'",
      'shared/platform/http/request.ts',
    ],
    ['deal-server/domain/deal.ts', "export type { A } from '../http/call.ts'", 'deal-server/http/call.ts'],
    ['deal-server/use-cases/hold.ts', "import { Hono } from 'hono/tiny'", 'hono'],
    ['deal-server/use-cases/hold.ts', "import type { SQL } from 'drizzle-orm/pg-core'", 'drizzle-orm'],
    ['deal-server/use-cases/hold.ts', "import { deals } from '../store/schema.ts'", 'deal-server/store/schema.ts'],
    ['deal-server/http/app.ts', "const x = await import('../store/deals.ts')", 'deal-server/store/deals.ts'],
    ['deal-server/http/app.ts', "import '../server.ts'", 'deal-server/server.ts'],
    [
      'deal-server/store/deals.ts',
      "import {\n  a,\n  b,\n} from '../use-cases/index.ts'",
      'deal-server/use-cases/index.ts',
    ],
    ['deal-server/server.ts', "import { users } from '../auth-server/users/users.ts'", 'auth-server/users/users.ts'],
    ['auth-server/users/users.ts', "import { x } from '../http/x.ts'", 'auth-server/http/x.ts'],
    ['verify/src/keys/key-store.ts', "import { sql } from 'drizzle-orm'", 'drizzle-orm'],
    ['verify/src/keys/key-store.ts', "import { x } from '../../../shared/server/x.ts'", 'shared/server/x.ts'],
    ['shared/platform/http/request.ts', "import { x } from '../../../deal-server/config.ts'", 'deal-server/config.ts'],
    ['shared/platform/cache/cache.ts', "import { x } from '../../../start.ts'", 'start.ts'],
  ])('in %s: %s', (path, line, imported) => {
    expect(wrongImports(read(path, line))).toEqual([`${path} imports ${imported}`])
  })

  it('not what only looks like an import', () => {
    const lines = ["// import { z } from 'zod'", '/*', "import { z } from 'zod'", '*/', "const text = `\nimport 'zod'`"]
    expect(read('deal-server/domain/deal.ts', ...lines.slice(0, 4)).imports).toEqual([])
    expect(wrongImports(read('deal-server/other/deal.ts'))).toEqual([
      'deal-server/other/deal.ts belongs to no folder that this test knows',
    ])
  })
})
