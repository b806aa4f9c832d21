import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { hash as libraryHash, hashRaw as libraryHashRaw, verify as libraryVerify } from '@node-rs/argon2'
import { describe, expect, inject, it } from 'vitest'
import { createArgon2Threads } from '../../../../shared/platform/crypto/argon2-threads.ts'

const cheap = { memoryCost: 64, timeCost: 1, parallelism: 1 }

/** A thread that ends when it is asked. */
const broken = (code: string) =>
  new Worker(`require('node:worker_threads').parentPort.on('message', () => { ${code} })`, { eval: true })

describe('Argon2 in threads', () => {
  it('hashes and verifies as the library does', async () => {
    const argon2 = createArgon2Threads()
    const hash = await argon2.hash('pässword', cheap)
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=64,t=1,p=1\$/)
    expect(await libraryVerify(hash, 'pässword')).toBe(true)
    expect(await argon2.verify(await libraryHash('pässword', cheap), 'pässword')).toBe(true)
    expect(await argon2.verify(hash, 'password')).toBe(false)
    const raw = { ...cheap, outputLen: 32, salt: Buffer.alloc(16, 7) }
    expect(await argon2.hashRaw('pässword', raw)).toEqual(await libraryHashRaw('pässword', raw))
  })

  it('starts no thread before the first hash, and only as many as hashes run at once', async () => {
    const argon2 = createArgon2Threads()
    expect(argon2.count()).toBe(0)
    for (let n = 0; n < 3; n += 1) await argon2.hash('one after another', cheap)
    expect(argon2.count()).toBe(1)
    await Promise.all([argon2.hash('at', cheap), argon2.hash('once', cheap)])
    expect(argon2.count()).toBe(2)
  })

  it('says that it is unavailable while no thread can start, and is there again with the first that does', async () => {
    let isGone = true
    const file = new URL('../../../../shared/platform/crypto/argon2-thread.mjs', import.meta.url)
    const argon2 = createArgon2Threads({ start: () => new Worker(isGone ? new URL('./gone.mjs', file) : file) })
    await argon2.check()
    await expect(argon2.hash('password', cheap)).rejects.toMatchObject({ dependency: 'hashing' })
    await expect(argon2.check()).rejects.toMatchObject({ name: 'Unavailable', dependency: 'hashing' })
    isGone = false
    await argon2.check()
    await argon2.check()
    expect(argon2.count()).toBe(1)
  })

  it('goes on after work that Argon2 refuses', async () => {
    const argon2 = createArgon2Threads()
    await expect(argon2.verify('no hash', 'password')).rejects.toThrow()
    await expect(argon2.hash('password', { ...cheap, memoryCost: 1 })).rejects.toThrow()
    expect(await argon2.verify(await libraryHash('password', cheap), 'password')).toBe(true)
    expect(argon2.count()).toBe(1)
  })

  it.each([
    ['ends', 'process.exit(0)'],
    ['fails', 'throw new Error("planted")'],
  ])('is unavailable when the thread %s during the work, and starts another one for the next', async (_how, code) => {
    let started = 0
    const working = createArgon2Threads()
    const argon2 = createArgon2Threads({
      start: () => {
        started += 1
        if (started === 1) return broken(code)
        return new Worker(new URL('../../../../shared/platform/crypto/argon2-thread.mjs', import.meta.url))
      },
    })
    await argon2.check()
    await expect(argon2.hash('password', cheap)).rejects.toMatchObject({ name: 'Unavailable', dependency: 'hashing' })
    const hash = await argon2.hash('password', cheap)
    expect(await working.verify(hash, 'password')).toBe(true)
    expect([started, argon2.count()]).toEqual([2, 1])
  })

  it('ends threads that had no work for a while, and starts them again', async () => {
    const argon2 = createArgon2Threads({ idleMs: 50 })
    await argon2.hash('password', cheap)
    await expect.poll(() => argon2.count()).toBe(0)
    expect(await argon2.hash('password', cheap)).toContain('argon2id')
  })

  it('lets a process end when its work is done', () => {
    const file = pathToFileURL(join(inject('compiled'), 'shared/platform/crypto/argon2-threads.js')).href
    const program = `import { argon2 } from ${JSON.stringify(file)}
      process.stdout.write(await argon2.hash('password', ${JSON.stringify(cheap)}))`
    const run = ['--input-type=module', '--eval', program]
    expect(execFileSync(process.execPath, run, { encoding: 'utf8', timeout: 50_000 })).toContain('argon2id')
  })

  it.runIf(process.platform === 'linux')(
    'gives its threads a lower priority than the rest of the process',
    async () => {
      const niceOf = (thread: string) => {
        const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
      }
      const own = niceOf(String(process.pid))
      const before = new Set(readdirSync('/proc/self/task'))
      const argon2 = createArgon2Threads()
      await argon2.hash('password', cheap)
      const added = readdirSync('/proc/self/task').filter((thread) => !before.has(thread))
      expect(added.map(niceOf).filter((nice) => nice > own)).toHaveLength(1)
      expect(niceOf(String(process.pid))).toBe(own)
    },
  )
})
