/**
 * What concerns principal records of auth and deal servers, each with connections of its own to a real database and a
 * real cache.
 */
import { PrincipalPublisher } from '../../../../auth-server/principals/principal-publisher.ts'
import { changeUser } from '../../../../auth-server/users/change-user.ts'
import { insertUser } from '../../../../auth-server/users/create-user.ts'
import { systemClock } from '../../../../shared/platform/clock.ts'
import type { Database } from '../../../../shared/platform/database/database.ts'
import { createIdSource } from '../../../../shared/platform/ids.ts'
import { createLog } from '../../../../shared/platform/log/log.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { PrincipalFeed } from '../../../../verify/src/principals/principal-feed.ts'
import { createPrincipalRecords } from '../../../../verify/src/principals/principal-records.ts'
import { fakeSystems } from '../../fake-systems.ts'
import type { Backend } from '../../stores/backends.ts'
import { migrateBoth } from '../../stores/migrate-both.ts'

const log = createLog({ level: 'silent', format: 'json' })

export type AuthPart = ReturnType<typeof openAuthPart>
export type DealPart = Awaited<ReturnType<typeof openDealPart>>

/** Gives an empty database its tables, and alice with these rights. */
export async function createAlice(database: Database, rights: readonly string[]): Promise<void> {
  await migrateBoth(database)
  const alice = { username: 'alice', passwordHash: null, roles: [], rights, enabled: true }
  await insertUser({ database, clock: systemClock, ids: createIdSource(systemClock) }, alice)
}

/** Gives alice these rights at an auth server. Resolves when that is acknowledged. */
export async function changeAlice({ database, publisher }: AuthPart, rights: string[]): Promise<void> {
  const changed = await changeUser({ database, clock: systemClock }, 'alice', { patch: { rights } })
  await publisher.waitUntilPublished(changed.principalVersion, changed.changes)
}

/** The publisher of an auth server, already beating. */
export function openAuthPart(backend: Backend) {
  const [database, cache] = [backend.openDatabase(), backend.openCache()]
  const publisher = new PrincipalPublisher({
    database,
    cache,
    clock: systemClock,
    log,
    publishedKeys: () => 'the same',
  })
  publisher.start()
  let isOpen = true
  return {
    database,
    publisher,
    isOpen: () => isOpen,
    close: async () => {
      if (!isOpen) return
      isOpen = false
      await publisher.stop()
      await Promise.all([cache.close(), database.close()])
    },
  }
}

/** The records of a deal server that asks whichever auth server is open. */
export async function openDealPart(backend: Backend, authParts: readonly AuthPart[]) {
  const cache = backend.openCache()
  let asked = 0
  const openPublisher = () => {
    const open = authParts.find((part) => part.isOpen())
    if (!open) throw new Unavailable('auth-server')
    return open.publisher
  }
  const authClient = {
    instanceId: async () => openPublisher().instanceId(),
    principal: async (username: string) => {
      asked += 1
      return openPublisher().fill(username)
    },
    catalogue: async () => {
      const { instanceId, catalogue } = await openPublisher().catalogue()
      return { instanceId, record: catalogue }
    },
  }
  const systems = fakeSystems({ cache, authClient })
  const feed = new PrincipalFeed(systems)
  const records = createPrincipalRecords(systems, feed, 300_000)
  await feed.start()
  return {
    records,
    feed,
    asked: () => asked,
    close: async () => {
      await feed.stop()
      await cache.close()
    },
  }
}
