import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEmbedded } from '../../support/stores/backends.ts'
import { openStack } from '../../support/worlds/stack.ts'

const here = join(import.meta.dirname, 'tools')
const programs = join(here, 'node_modules/.bin')
const run = promisify(execFile)

let folder: string

/** Runs a tool in the folder of this run. Gives what it printed, also when it failed. */
async function tool(name: string, ...args: string[]): Promise<{ failed: boolean; printed: string }> {
  // No tool needs to tell anybody that it runs.
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', DO_NOT_TRACK: '1', CI: 'true', NO_COLOR: '1' }
  try {
    const { stdout, stderr } = await run(join(programs, name), args, { cwd: folder, env, maxBuffer: 16 * 1024 * 1024 })
    return { failed: false, printed: stdout + stderr }
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string }
    return { failed: true, printed: stdout + stderr || message }
  }
}

async function expectSuccess(name: string, ...args: string[]): Promise<void> {
  const { failed, printed } = await tool(name, ...args)
  expect(failed, printed.slice(-4000)).toBe(false)
}

const documents = ['auth', 'deal'] as const

describe.skipIf(!existsSync(programs))('the OpenAPI documents', () => {
  beforeAll(async () => {
    mkdirSync(join(here, 'generated'), { recursive: true })
    folder = mkdtempSync(join(here, 'generated/run-'))
    cpSync(join(here, 'calls'), folder, { recursive: true })
    const stack = await openStack(openEmbedded)
    try {
      for (const name of documents) {
        writeFileSync(join(folder, `${name}.json`), (await stack[name].send('/openapi.json')).text)
      }
    } finally {
      await stack.close()
    }
    // Packages are found upwards from the folder, and none of them is code under test.
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it.each(documents)('of the %s server passes Spectral and Redocly without a warning', async (name) => {
    const ruleset = join(here, 'spectral.yaml')
    await expectSuccess('spectral', 'lint', '--fail-severity=hint', '--ruleset', ruleset, `${name}.json`)
    const { failed, printed } = await tool('redocly', 'lint', '--config', join(here, 'redocly.yaml'), `${name}.json`)
    expect(printed, printed.slice(-4000)).not.toContain('Warning was generated')
    expect(failed, printed.slice(-4000)).toBe(false)
  })

  it('give clients in which valid calls of all styles compile, and nonsense does not', async () => {
    const generate = async (name: (typeof documents)[number]) => {
      await expectSuccess('openapi-typescript', `${name}.json`, '-o', `openapi-typescript/${name}.ts`)
      await expectSuccess('openapi-ts', '-i', `${name}.json`, '-o', `hey-api/${name}`, '-c', '@hey-api/client-fetch')
      await expectSuccess('orval', '--input', `./${name}.json`, '--output', `./orval/${name}.ts`, '--client', 'fetch')
    }
    await Promise.all(documents.map(generate))
    await expectSuccess('tsc', '-p', '.')
  })
})
