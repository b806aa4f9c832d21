import { execFile } from 'node:child_process'
import { chmod, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { compiled } from '../../support/processes/compiled.ts'
import { preparedKeysDir } from '../../support/processes/prepared-keys.ts'

const root = join(import.meta.dirname, '../../..')

interface Outcome {
  readonly code: number
  readonly out: string
  readonly err: string
}

describe('ops keys', () => {
  let keysDir = ''

  beforeEach(async () => {
    keysDir = await mkdtemp(join(tmpdir(), 'keyhold-keys-'))
    await cp(await preparedKeysDir(), keysDir, { recursive: true })
  })
  afterEach(() => rm(keysDir, { recursive: true, force: true }))

  const ops = (...parameters: string[]): Promise<Outcome> =>
    new Promise((resolve) => {
      const env = { PATH: process.env.PATH, KEYS_DIR: keysDir }
      const command = [compiled('auth-server/cli/main.ts'), ...parameters]
      execFile(process.execPath, command, { cwd: root, env }, (error, out, err) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err })
      })
    })

  it('tells refusals from wrong usage by its exit code, and says how it is used', async () => {
    expect(await ops('keys', 'retire', 'no-such-key')).toMatchObject({ code: 1 })
    for (const wrong of [
      ['keys', 'revoke', 'kid'],
      ['keys', 'generate', '--use', 'jet'],
      ['keyz'],
      ['keys', 'status', '--bogus'],
    ]) {
      const { code, err } = await ops(...wrong)
      expect(code, wrong.join(' ')).toBe(2)
      expect(err).toContain('Usage: ops')
    }
    expect(await ops('--help')).toMatchObject({ code: 0, err: '' })
  })

  it('takes the id of a key for one though it begins with a hyphen', async () => {
    const kid = '-Nbk-0No4cpgr1XUV5r0R7zxYF02S0T_SVRFvLVtUqU'
    for (const command of [
      ['revoke', kid, '--reason', 'found on a stolen laptop'],
      ['promote', '--now', kid],
    ])
      expect(await ops('keys', ...command)).toMatchObject({ code: 1, err: expect.stringContaining(`no key ${kid}`) })
  })

  it('finds what is wrong with the files', async () => {
    await writeFile(join(keysDir, 'stray.pem'), '')
    expect(await ops('keys', 'verify', '--offline')).toMatchObject({
      code: 1,
      out: expect.stringContaining('stray.pem'),
    })
    await chmod(keysDir, 0o777)
    const open = await ops('keys', 'verify', '--offline')
    expect(open).toMatchObject({
      code: 1,
      out: expect.stringContaining(`${keysDir} can be written by everybody (mode 777)`),
    })
    await chmod(keysDir, 0o700)
    const { keys } = JSON.parse(await readFile(join(keysDir, 'keyring.json'), 'utf8'))
    await chmod(join(keysDir, keys[0].file), 0o644)
    const loose = await ops('keys', 'verify', '--offline')
    expect(loose).toMatchObject({ code: 1, err: expect.stringContaining('can be read by others') })
  })
})
