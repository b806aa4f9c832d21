import { execFileSync } from 'node:child_process'
import { chmodSync, linkSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { replaceFile } from '../../../../auth-server/key-ring/key-files.ts'
import { openCheckpoint } from '../../../../cli/transfer/checkpoint.ts'
import { placeOf, writeTextWhole, writeWhole } from '../../../../shared/platform/files/whole-file.ts'

describe('a file that is written whole', () => {
  const parent = mkdtempSync(join(tmpdir(), 'keyhold-whole-'))
  afterAll(() => rmSync(parent, { recursive: true, force: true }))
  let folder = ''
  let file = ''
  beforeEach(() => {
    folder = mkdtempSync(join(parent, 'one-'))
    file = join(folder, 'file')
  })
  const modeOf = (path: string) => lstatSync(path).mode & 0o777

  it('keeps its mode, and has one of its own when it is new', async () => {
    await writeTextWhole(file, 'new', { mode: 0o600 })
    expect([readFileSync(file, 'utf8'), modeOf(file)]).toEqual(['new', 0o600])
    for (const mode of [0o640, 0o666, 0o400]) {
      chmodSync(file, mode)
      await writeTextWhole(file, 'again', { mode: 0o600 })
      expect(modeOf(file)).toBe(mode)
    }
    expect(readdirSync(folder)).toEqual(['file'])
  })

  it('stays as it was when the content fails, and leaves no draft', async () => {
    await writeFile(file, 'old')
    const failing = writeWhole(file, async (target) => {
      target.end('half')
      throw new Error('no more')
    })
    await expect(failing).rejects.toThrow('no more')
    expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual(['old', ['file']])
  })

  it('does not follow a link in the place of its draft', async () => {
    await writeFile(join(folder, 'other'), 'other')
    await symlink('other', `${file}.part`)
    await writeTextWhole(file, 'new')
    expect([readFileSync(file, 'utf8'), readFileSync(join(folder, 'other'), 'utf8')]).toEqual(['new', 'other'])
  })

  it('is written straight when it is a link, or has another name', async () => {
    const [real, name] = [join(folder, 'real'), join(folder, 'name')]
    await writeFile(real, 'a longer text')
    await symlink('real', file)
    await writeTextWhole(file, 'by link')
    linkSync(real, name)
    await writeTextWhole(name, 'by name')
    expect(lstatSync(file).isSymbolicLink()).toBe(true)
    expect(readFileSync(real, 'utf8')).toBe('by name')
    // A link to nothing yet.
    await symlink('later', join(folder, 'dangling'))
    await writeTextWhole(join(folder, 'dangling'), 'x')
    expect(readFileSync(join(folder, 'later'), 'utf8')).toBe('x')
  })

  it('is written straight when it is a pipe or a device', async () => {
    execFileSync('mkfifo', [file])
    const [text] = await Promise.all([readFile(file, 'utf8'), writeTextWhole(file, 'through')])
    expect([text, lstatSync(file).isFIFO()]).toEqual(['through', true])
    await symlink('/dev/full', join(folder, 'full'))
    await expect(writeTextWhole(join(folder, 'full'), 'x')).rejects.toMatchObject({ code: 'ENOSPC' })
    expect(readdirSync(folder).sort()).toEqual(['file', 'full'])
  })

  it.each([
    ['key rings', (path: string) => replaceFile(path, 'x')],
    ['states of imports', (path: string) => openCheckpoint(path).save({} as never, true)],
    ['lists of the demo', async (path: string) => writeTextWhole(await placeOf(path), 'x', { mode: 0o600 })],
  ])('is, of %s, what a link leads to, with the mode that it has', async (_, write) => {
    const [real, link] = [join(folder, 'real'), join(folder, 'link')]
    await writeFile(real, 'old', { mode: 0o640 })
    await symlink(real, link)
    await write(link)
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(readFileSync(real, 'utf8')).not.toBe('old')
    expect(modeOf(real)).toBe(0o640)
    expect(readdirSync(folder).sort()).toEqual(['link', 'real'])
  })
})
