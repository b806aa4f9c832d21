import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { besideCode } from '../../scripts/compile.mjs'
import { productionPackages } from '../support/processes/production-packages.ts'
import { sourceFiles } from './source.ts'

const root = join(import.meta.dirname, '../..')
const source = sourceFiles()

/**
 * What the servers read beside their code: every file in their folders that is not compiled, and not only for people.
 * Of the SQL functions, they read the migrations.
 */
const filesBesideCode = (): string[] =>
  ['auth-server', 'deal-server', 'console', 'shared'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.(tsx?|md)$/.test(entry.name))
      .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1))
      .filter((path) => !path.includes('/store/functions/')),
  )

it('copies what stands beside the code into the build', () => {
  const files = filesBesideCode()
  expect(files).toContain('shared/server/html/assets/pages.css')
  expect(
    files.filter((file) => !besideCode.some((path) => file === path || (path.endsWith('/') && file.startsWith(path)))),
  ).toEqual([])
})

const inImage = productionPackages().map((path) => path.replace(/^.*node_modules\//, ''))

const servers = ['auth-server/main.ts', 'deal-server/main.ts']

/** What programs load at once: every package that can be reached from their first files. */
const packagesLoaded = (...programs: readonly string[]): string[] => {
  const files = new Map(source.map((file) => [file.path, file]))
  const reached = new Set(programs)
  for (const path of reached) for (const imported of files.get(path)?.importsAtOnce ?? []) reached.add(imported)
  return [...reached].filter((name) => !files.has(name) && !name.startsWith('node:'))
}

const toolFile = (name: string): string => `auth-server/cli/${name}.ts`

it('puts no compiler, no embedded database and no development tool into the image', () => {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const unwanted = ['esbuild', '@electric-sql/pglite', ...Object.keys(devDependencies)]
  expect(unwanted).toEqual(expect.arrayContaining(['tsx', 'drizzle-kit', 'vitest']))
  expect(inImage).toContain('hono')
  expect(inImage.filter((name) => unwanted.includes(name))).toEqual([])
})

it('loads nothing in production that is not in the image', () => {
  const loaded = packagesLoaded(...servers, ...['main', 'offline/init-secrets'].map(toolFile))
  expect(loaded).toEqual(expect.arrayContaining(['hono', 'postgres', 'ioredis', 'commander']))
  expect(loaded.filter((name) => !inImage.includes(name))).toEqual([])
})

it('installs for `npm start`, which compiles all programs, what the command line for callers is made of', () => {
  const files = source.filter(({ path }) => /^(cli|client\/src)\//.test(path))
  const packages = files.flatMap(({ imports }) => imports).filter((name) => !/^node:|\//.test(name))
  expect(packages).toEqual(expect.arrayContaining(['openapi-fetch', 'commander', 'cli-progress']))
  expect(packages.filter((name) => !inImage.includes(name))).toEqual([])
})

it('loads what only some need when it is needed', () => {
  const seldom = ['@electric-sql/pglite', '@simplewebauthn/server', 'pino-pretty', 'swagger-ui-dist']
  const loaded = packagesLoaded('start.ts', ...servers)
  expect(loaded).toEqual(expect.arrayContaining(['@node-rs/argon2', 'pino', 'drizzle-orm']))
  expect(loaded.filter((name) => seldom.includes(name))).toEqual([])
})

it('loads for the operators no database, no log and no command but the one that runs', () => {
  const unwanted = ['drizzle-orm', '@node-rs/argon2', 'node-rsa', 'pino', 'ioredis', 'hono']
  const loaded = packagesLoaded(toolFile('main'))
  expect(loaded).toContain('commander')
  expect(loaded.filter((name) => unwanted.includes(name))).toEqual([])
})

it('loads no database, no Redis and no log where a service verifies', () => {
  const adapters = ['hono', 'express', 'fastify'].map((name) => `verify/src/adapters/${name}.ts`)
  const loaded = packagesLoaded('verify/src/index.ts', ...adapters)
  expect(loaded.toSorted()).toEqual(['ipaddr.js', 'jose', 'lru-cache', 'structured-headers', 'uuid', 'zod'])
})

it('takes of zod what it uses: `import * as z`, because an object `z` keeps the sentences of fifty languages', () => {
  const whole = source.filter(({ lines }) => lines.some((line) => /^import \{.*\} from 'zod'/.test(line)))
  expect(whole.map(({ path }) => path)).toEqual([])
})

it('names an exact version of every image', () => {
  const files = ['Dockerfile', 'docker-compose.yml'].map((name) => readFileSync(join(root, name), 'utf8')).join('\n')
  const images = [...files.matchAll(/^(?:FROM|\s+image:) (\S+)/gm)].map(([, image = '']) => image)
  const foreign = images.filter((image) => image !== 'keyhold')
  expect(foreign.length).toBe(6)
  for (const image of foreign) expect(image).toMatch(/^[a-z]+:\d+\.\d+(\.\d+)?-[a-z-]+$/)
})
