import { describe, expect, it } from 'vitest'
import { maxStatements, readSource, type SourceFile, sourceFiles, testFiles, tooLong } from './source.ts'

const files = sourceFiles()
const tests = testFiles()

const maxFileLines = 400

/**
 * What the files of each folder may import beside their own folder: folders of the project, single files, and packages.
 * `*` stands for every package. What is not listed here belongs nowhere yet: decide where before adding it.
 */
const directions: Readonly<Record<string, readonly string[]>> = {
  'deal-server/domain': ['shared/platform/problems/errors.ts', 'shared/platform/pagination.ts'],
  'deal-server/use-cases': ['deal-server/domain', 'shared', 'zod', 'node:util'],
  'deal-server/commands': [
    'deal-server/use-cases',
    'deal-server/domain',
    'shared',
    'zod',
    'node:crypto',
    'node:timers',
  ],
  'deal-server/queries': [
    'deal-server/commands',
    'deal-server/use-cases',
    'deal-server/events',
    'deal-server/domain',
    'shared',
  ],
  'deal-server/auth-client': ['verify/src', 'shared', '*'],
  'deal-server/store': [
    'deal-server/commands',
    'deal-server/queries',
    'deal-server/events',
    'deal-server/domain',
    'deal-server/webhooks',
    'shared',
    '*',
  ],
  'deal-server/replicas': ['deal-server/store', 'deal-server/queries', 'shared'],
  'deal-server/webhooks': ['deal-server/events', 'shared', '*'],
  'deal-server/events': ['deal-server/domain', 'shared', '*'],
  'deal-server/retention': ['deal-server/store', 'shared', '*'],
  'deal-server/files': ['shared', 'csv-parse', 'csv-stringify', 'node:crypto'],
  'deal-server/http': [
    'deal-server/commands',
    'deal-server/queries',
    'deal-server/use-cases',
    'deal-server/domain',
    'deal-server/events',
    'deal-server/webhooks',
    'console/deal-console.ts',
    'console/frame',
    'shared',
    'zod',
  ],
  'deal-server/config.ts': ['deal-server/domain', 'deal-server/webhooks/back-off.ts', 'shared', '*'],
  'deal-server/wiring': ['deal-server', 'verify/src', 'shared', '*'],
  'deal-server/server.ts': ['deal-server', 'verify/src', 'shared', '*'],
  'deal-server/main.ts': ['deal-server', 'shared', '*'],
  'auth-server/passwords': ['shared', '*'],
  'auth-server/key-ring': ['shared', '*'],
  'auth-server/store': ['shared', '*'],
  'auth-server/tokens': ['auth-server/store', 'shared', '*'],
  'auth-server/audit': ['auth-server/store', 'shared', '*'],
  'auth-server/principals': ['auth-server/store', 'auth-server/audit', 'shared', '*'],
  'auth-server/users': [
    'auth-server/passwords',
    'auth-server/principals',
    'auth-server/store',
    'auth-server/audit',
    'shared',
    '*',
  ],
  'auth-server/access': [
    'auth-server/principals',
    'auth-server/users',
    'auth-server/store',
    'auth-server/audit',
    'shared',
    '*',
  ],
  'auth-server/second-factors': [
    'auth-server/principals',
    'auth-server/users',
    'auth-server/store',
    'auth-server/audit',
    'shared',
    '*',
  ],
  'auth-server/logins': [
    'auth-server/passwords',
    'auth-server/tokens',
    'auth-server/principals',
    'auth-server/users',
    'auth-server/store',
    'auth-server/audit',
    'auth-server/second-factors',
    'shared',
    '*',
  ],
  'auth-server/api-keys': ['auth-server/store', 'auth-server/principals', 'auth-server/users', 'shared', '*'],
  'auth-server/services': [
    'auth-server/access',
    'auth-server/principals',
    'auth-server/store',
    'auth-server/users',
    'shared',
    '*',
  ],
  'auth-server/oauth': [
    'auth-server/api-keys',
    'auth-server/logins',
    'auth-server/tokens',
    'auth-server/principals',
    'auth-server/users',
    'auth-server/store',
    'shared',
    '*',
  ],
  'auth-server/http/pipeline': [
    'auth-server/principals',
    'auth-server/users',
    'auth-server/logins',
    'auth-server/oauth',
    'auth-server/audit',
    'shared',
    'zod',
  ],
  'auth-server/http/endpoints': [
    'auth-server/access',
    'auth-server/http/pipeline',
    'auth-server/api-keys',
    'auth-server/audit',
    'auth-server/key-ring',
    'auth-server/logins',
    'auth-server/oauth',
    'auth-server/second-factors',
    'auth-server/principals',
    'auth-server/services',
    'auth-server/users',
    'shared',
    'zod',
  ],
  'auth-server/http/oauth': [
    'auth-server/http/pipeline',
    'auth-server/http/endpoints',
    'auth-server/api-keys',
    'auth-server/audit',
    'auth-server/logins',
    'auth-server/oauth',
    'auth-server/principals',
    'auth-server/services',
    'auth-server/users',
    'shared',
    'zod',
  ],
  'auth-server/http/internal': [
    'auth-server/api-keys',
    'auth-server/logins',
    'auth-server/principals',
    'auth-server/services',
    'auth-server/users',
    'shared',
    'zod',
  ],
  'auth-server/http': ['console/auth-console.ts', 'console/sign-in/sign-in.tsx', 'console/frame', 'shared'],
  'auth-server/config.ts': ['auth-server/principals/rights.ts', 'shared', '*'],
  'auth-server/wiring': ['auth-server', 'shared', '*'],
  'auth-server/server.ts': ['auth-server', 'shared', '*'],
  'auth-server/main.ts': ['auth-server', 'shared', '*'],
  'auth-server/cli': ['auth-server', 'client/src', 'deal-server/retention', 'shared', '*'],
  'shared/platform': ['*'],
  'shared/protocol': ['shared/platform', '*'],
  'shared/server': ['shared/platform', 'shared/protocol', '*'],
  console: [
    'auth-server/http/endpoints/index.ts',
    'auth-server/principals/rights.ts',
    'auth-server/key-ring/life-cycle.ts',
    'deal-server/http/styles/route-schemas.ts',
    'deal-server/files',
    'deal-server/use-cases',
    'deal-server/domain',
    'shared',
    'hono',
    'zod',
    'csv-stringify',
    'uqr',
    'node:crypto',
    'node:path',
    'node:stream',
    'node:timers',
  ],
  'verify/src': [
    'shared/platform',
    'shared/protocol',
    'hono',
    'fastify',
    'zod',
    'node:crypto',
    'node:http',
    'node:timers',
    'node:util',
  ],
  'verify/build.mjs': ['scripts/build-package.mjs', '*'],
  'client/src': ['openapi-fetch', 'openapi-typescript-helpers'],
  'client/build.mjs': ['scripts/build-package.mjs', '*'],
  cli: [
    'client/src',
    'deal-server/files',
    'deal-server/use-cases',
    'deal-server/http/requests/deal-lists.ts',
    'auth-server/cli',
    'auth-server/config.ts',
    'shared',
    '*',
  ],
  'start.ts': ['auth-server', 'deal-server', 'shared', '*'],
  bench: ['auth-server', 'deal-server', 'verify/src', 'shared', 'test', '*'],
  'scripts/client-types': ['auth-server', 'deal-server', 'shared', 'test/support/clients', 'scripts', '*'],
  scripts: ['*'],
}

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
    const ofHttp = /(^|\/)http\/(answer|app|call|cookie|cors|json-body|lists|pipeline|routes|transport)\.ts$/
    const imports = below.flatMap(({ path, imports: found }) => found.map((imported) => `${path} imports ${imported}`))
    expect(below.length).toBeGreaterThan(30)
    expect(imports.filter((line) => ofHttp.test(line))).toEqual([])
    const naming = /'(etag|location|retry-after|idempotent-\w+|if-match|if-none-match|www-authenticate|cache-control)'/i
    const text = below.filter(({ lines }) => lines.some((line) => naming.test(line)))
    expect(text.map(({ path }) => path)).toEqual([])
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
    expect(files.flatMap((file) => linesWith(file, /(?<!AbortSignal\.)\bany\b/))).toEqual([])
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
