import { describe, expect, it, vi } from 'vitest'
import { createCredentialCache } from '../../../../shared/protocol/authentication/credential-cache.ts'
import type { PrincipalRecord } from '../../../../shared/protocol/principal/record.ts'

const record = (version: number, userId = 'id'): PrincipalRecord => ({
  username: 'alice',
  userId,
  enabled: true,
  roles: [],
  rights: [],
  generation: 1,
  keptLogin: null,
  revokedIds: [],
  version,
})

function open(options: { ttlMs?: number; unknownForMs?: number } = {}) {
  let time = 1
  let present: PrincipalRecord | undefined = record(1)
  let replaced: () => void = () => undefined
  let whileAsked: () => void = () => undefined
  const held = createCredentialCache({
    principals: {
      get: () => {
        whileAsked()
        return present
      },
      onOtherInstance: (listener) => {
        replaced = listener
      },
    },
    clock: { now: () => time, monotonic: () => time },
    maxEntries: 10,
    maxBytes: 10_000,
    ...options,
  })
  const value = (version: number, userId = 'id') => ({ username: 'alice', userId, version })
  return {
    held,
    value,
    pass: (milliseconds: number) => {
      time += milliseconds
    },
    become: (now: PrincipalRecord | undefined) => {
      present = now
    },
    replaceDatabase: () => replaced(),
    replaceDatabaseWhileAsked: () => {
      whileAsked = () => {
        whileAsked = () => undefined
        replaced()
      }
    },
  }
}

describe('what is held of a credential', () => {
  it('is loaded once, also by callers at the same time', async () => {
    const { held, value } = open()
    const load = vi.fn(async () => value(1))
    await Promise.all([held.get('a', load), held.get('a', load)])
    expect(await held.get('a', load)).toEqual(value(1))
    expect(load).toHaveBeenCalledTimes(1)
  })

  it('is reloaded when the record of its user has moved on, or is of another user', async () => {
    const { held, value, become } = open()
    await held.get('a', async () => value(1))
    become(record(2))
    expect(await held.get('a', async () => value(2))).toEqual(value(2))
    expect(await held.get('a', async () => value(9))).toEqual(value(2))
    become(record(2, 'other'))
    expect(await held.get('a', async () => undefined)).toBeUndefined()
  })

  it('is loaded once more when the record moved on while it was loaded', async () => {
    const { held, value, become } = open()
    const load = vi.fn(async () => {
      become(record(2))
      return value(load.mock.calls.length)
    })
    expect(await held.get('a', load)).toEqual(value(2))
  })

  it('is nothing when another database took the place, though its records be older', async () => {
    const { held, value, become, replaceDatabase } = open()
    become(record(9))
    await held.get('a', async () => value(9))
    await held.get('b', async () => undefined)
    replaceDatabase()
    become(record(2))
    expect(await held.get('a', async () => undefined)).toBeUndefined()
    expect(await held.get('b', async () => value(2))).toEqual(value(2))
  })

  it('is not believed once more when that comes out while the record is asked for', async () => {
    const { held, value, replaceDatabaseWhileAsked } = open()
    await held.get('a', async () => value(1))
    replaceDatabaseWhileAsked()
    expect(await held.get('a', async () => undefined)).toBeUndefined()
  })

  it('is neither used nor kept when that happens while it is loaded', async () => {
    const { held, value, replaceDatabase } = open()
    const load = vi.fn(async () => {
      if (load.mock.calls.length === 1) replaceDatabase()
      return load.mock.calls.length === 1 ? value(1) : undefined
    })
    expect(await held.get('a', load)).toBeUndefined()
    expect(load).toHaveBeenCalledTimes(2)
  })

  it('is held for its time and no longer', async () => {
    const { held, value, pass } = open({ ttlMs: 60_000 })
    const load = vi.fn(async () => value(1))
    await held.get('a', load)
    pass(59_000)
    await held.get('a', load)
    expect(load).toHaveBeenCalledTimes(1)
    pass(2_000)
    await held.get('a', load)
    expect(load).toHaveBeenCalledTimes(2)
  })

  it('is nothing for a second where nothing was found, unless it is to be asked for always', async () => {
    for (const [unknownForMs, times] of [[undefined, 1] as const, [0, 2] as const]) {
      const { held, pass } = open(unknownForMs === undefined ? {} : { unknownForMs })
      const load = vi.fn(async () => undefined)
      await held.get('a', load)
      await held.get('a', load)
      expect(load).toHaveBeenCalledTimes(times)
      pass(1001)
      await held.get('a', load)
      expect(load).toHaveBeenCalledTimes(times + 1)
    }
  })
})
