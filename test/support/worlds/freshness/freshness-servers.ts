/**
 * What concerns principal records of auth and deal servers, each with connections of its own to a real database and a
 * real cache.
 */
import { join } from 'node:path'
import { PrincipalPublisher } from '../../../../auth-server/principals/principal-publisher.ts'
import { systemClock } from '../../../../shared/platform/clock.ts'
import { createLog } from '../../../../shared/platform/log/log.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { PrincipalFeed } from '../../../../verify/src/principals/principal-feed.ts'
import { createPrincipalRecords } from '../../../../verify/src/principals/principal-records.ts'
import { fakeSystems } from '../../fake-systems.ts'
import type { Backend } from '../../stores/backends.ts'

const log = createLog({ level: 'silent', format: 'json' })

export const authMigrations = {
  migrationsFolder: join(import.meta.dirname, '../../../../auth-server/store/migrations'),
  schema: 'auth',
}

export type AuthPart = ReturnType<typeof openAuthPart>
export type DealPart = Awaited<ReturnType<typeof openDealPart>>

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
