import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FolderLocked, lockFolder } from '../../../../shared/platform/process/folder-lock.ts'
import { isRunning, processStart } from '../../../../shared/platform/process/process-identity.ts'
import { campaign } from '../../../support/campaign.ts'
import { compiled } from '../../../support/processes/compiled.ts'

const root = mkdtempSync(join(tmpdir(), 'keyhold-lock-'))
let count = 0
let folder: string

/** What the claims in the folder say. */
const claims = () => readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))

const startContender = async (): Promise<ChildProcess> => {
  const child = fork(compiled('test/shared/platform/process/folder-lock-contender.ts'), { execArgv: [] })
  await once(child, 'message')
  return child
}

const contend = async (child: ChildProcess, at = Date.now()): Promise<unknown> => {
  const outcome = once(child, 'message')
  child.send({ folder, at })
  return (await outcome)[0]
}

const end = async (child: ChildProcess): Promise<void> => {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

beforeEach(() => {
  folder = join(root, `data-${count++}`)
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

describe('the lock of the data folder', () => {
  it('creates the folder for its owner only, and leaves nothing in it after the release', async () => {
    const unlock = await lockFolder(folder)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(claims()).toMatchObject([{ pid: process.pid }])
    await unlock()
    expect(readdirSync(folder)).toEqual([])
  })

  it('can be taken again after the release', async () => {
    await (await lockFolder(folder))()
    await (await lockFolder(folder))()
  })

  it('is refused while a running process holds it, with the id and start of that process', async () => {
    const holder = await startContender()
    expect(await contend(holder)).toBe('won')
    const error = await lockFolder(folder).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(FolderLocked)
    const [{ startedAt }] = claims()
    expect((error as Error).message).toBe(`${folder} is in use by process ${holder.pid} (started ${startedAt})`)
    expect(Math.abs(Date.now() - Date.parse(startedAt))).toBeLessThan(60_000)
    await end(holder)
  })

  it('is refused to a second part of the process that holds it', async () => {
    await lockFolder(folder)
    await expect(lockFolder(folder)).rejects.toThrow(`process ${process.pid}`)
  })

  it('is taken over from a process that was killed', async () => {
    const holder = await startContender()
    expect(await contend(holder)).toBe('won')
    await end(holder)
    const unlock = await lockFolder(folder)
    expect(claims()).toMatchObject([{ pid: process.pid }])
    await unlock()
  })

  it('is taken over when the id of its holder belongs to a later process', async () => {
    writeClaim('stale', { pid: process.pid, startedAt: '2020-01-01T00:00:00Z', processStart: 'another boot 1' })
    await (await lockFolder(folder))()
  })

  it.each(['', '{"pid":', '{"pid":0}', '{"pid":-1}', '{}'])('is taken over when a power cut left: %s', async (text) => {
    mkdirSync(folder)
    writeFileSync(join(folder, 'keyhold.lock.cut'), text)
    await (await lockFolder(folder))()
  })

  it('waits for a process that only tries to take it, and is refused while a process holds it', async () => {
    writeClaim('trying', { pid: process.ppid, startedAt: 'just now', processStart: '' })
    const lock = lockFolder(folder)
    rmSync(join(folder, 'keyhold.lock.trying'))
    await (await lock)()
    writeClaim('holding', { pid: process.ppid, startedAt: 'just now', processStart: '' })
    await expect(lockFolder(folder)).rejects.toThrow(`process ${process.ppid} (started just now)`)
  })
})

describe('eight processes that start at the same moment', () => {
  const CONTENDERS = 8
  const rounds = campaign({ short: 3, long: 100 })
  let contenders: ChildProcess[]

  beforeAll(async () => {
    contenders = await Promise.all(Array.from({ length: CONTENDERS }, startContender))
  })

  afterAll(() => Promise.all(contenders.map(end)))

  const race = async (prepare: () => void): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      folder = join(root, `race-${count++}`)
      mkdirSync(folder)
      prepare()
      const at = Date.now() + 30
      const outcomes = await Promise.all(contenders.map((child) => contend(child, at)))
      expect(outcomes.toSorted()).toEqual([...Array(CONTENDERS - 1).fill('refused'), 'won'])
      expect(claims()).toMatchObject([{ pid: contenders[outcomes.indexOf('won')]?.pid }])
    }
  }

  it('have one winner over a free folder, in every round', () => race(() => {}))

  it('have one winner over stale claims, in every round', () =>
    race(() => {
      for (const name of ['a', 'b', 'c']) writeClaim(name, { pid: process.pid, processStart: 'another boot 1' })
    }))
})

describe('the identity of a process', () => {
  it('stays the same, and ends with the process', async () => {
    const child = await startContender()
    const start = processStart(child.pid ?? 0) ?? ''
    expect(start).not.toBe('')
    expect(processStart(child.pid ?? 0)).toBe(start)
    expect(isRunning(child.pid ?? 0, start)).toBe(true)
    expect(isRunning(child.pid ?? 0, `${start}0`)).toBe(false)
    await end(child)
    expect(isRunning(child.pid ?? 0, start)).toBe(false)
  })
})

const writeClaim = (name: string, holder: object): void => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `keyhold.lock.${name}`), JSON.stringify(holder))
}
