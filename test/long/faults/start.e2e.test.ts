/** PostgreSQL goes away while a server starts: at whatever statement, it says so in one line. */
import { mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ensureAnonymous } from '../../../auth-server/users/create-user.ts'
import { hasNoUsers } from '../../../auth-server/users/user-rows.ts'
import { createFirstAdmin } from '../../../auth-server/wiring/bootstrap.ts'
import { systemClock as clock } from '../../../shared/platform/clock.ts'
import { migrateDatabase } from '../../../shared/platform/database/migrate.ts'
import { prepareDatabase } from '../../../shared/platform/database/prepare.ts'
import { createIdSource } from '../../../shared/platform/ids.ts'
import { OperatorError } from '../../../shared/platform/operator-error.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { preparedKeysDir } from '../../support/processes/prepared-keys.ts'
import { type Relay, startRelay } from '../../support/processes/proxies/relay.ts'
import { type Backend, describePostgresAndRedis } from '../../support/stores/backends.ts'

const ids = createIdSource(clock)
const sentence = /^(AUTH|DEAL)_DATABASE_URL: the database cannot be reached or prepared: .+$/

/** What PostgreSQL sends when it is shut down: ErrorResponse, severity FATAL, 57P01 (protocol, section 55.7). */
const shutdown = (() => {
  const fields = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')
  const head = Buffer.from([0x45, 0, 0, 0, fields.length + 4])
  return Buffer.concat([head, fields])
})()

/** How a database goes away: the last that its client hears. */
const ways = { killed: Buffer.alloc(0), 'shut down': shutdown }

describePostgresAndRedis('PostgreSQL that goes away during a start', (openBackend) => {
  let backend: Backend
  let relay: Relay | undefined

  /** The database, until a message of its clients is one to go away at. Gives its URL. */
  const goingAway = async (goesAt: (message: string) => boolean, last: Buffer): Promise<string> => {
    const url = new URL(backend.environment.AUTH_DATABASE_URL ?? '')
    let isAway = false
    const away = (client: Socket): void => {
      isAway = true
      client.end(last)
    }
    relay = await startRelay(Number(url.port || 5432), {
      fromClient: (data, peer, client) => {
        if (isAway || goesAt(data.toString('latin1'))) away(client)
        else peer.write(data)
      },
      fromServer: (data, peer) => void (isAway || peer.write(data)),
    })
    url.host = `127.0.0.1:${relay.port}`
    return url.href
  }

  beforeAll(async () => {
    backend = await openBackend()
  })
  afterEach(async () => {
    await relay?.close()
    relay = undefined
  })
  afterAll(() => backend?.close())

  /** All that an auth server asks of its database before it listens. */
  const prepare = async (url: string): Promise<void> => {
    const database = openPostgres(url)
    const config = { production: true, firstPasswordFile: undefined }
    const users = { create: () => Promise.reject(new TypeError('nobody is made here')) }
    try {
      await prepareDatabase('AUTH_DATABASE_URL', async () => {
        const migrationsFolder = join(import.meta.dirname, '../../../auth-server/store/migrations')
        await migrateDatabase(database, { migrationsFolder, schema: 'auth' })
        await ensureAnonymous({ database, clock, ids })
        if (!(await hasNoUsers(database))) await createFirstAdmin({ users, ids, config })
      })
    } finally {
      await database.close()
    }
  }

  const emptyDatabase = async (): Promise<void> => {
    const database = backend.openDatabase()
    await database.query('drop schema if exists auth cascade')
    await database.close()
  }

  it.each(Object.entries(ways))('%s at any message, it is said in one line', async (_way, last) => {
    let failures = 0
    for (let at = 1, isDone = false; !isDone; at += at < 12 ? 1 : 16) {
      await emptyDatabase()
      let messages = 0
      const url = await goingAway(() => ++messages >= at, last)
      const outcome = await prepare(url).catch((error: unknown) => error)
      if (outcome === undefined) isDone = messages < at
      else {
        failures += 1
        expect(outcome, `at message ${at}`).toBeInstanceOf(OperatorError)
        expect(outcome).toMatchObject({ exitCode: 1, message: expect.stringMatching(sentence) })
      }
      await relay?.close()
    }
    expect(failures).toBeGreaterThan(13)
  })

  describe('of a process', () => {
    const folder = mkdtempSync(join(tmpdir(), 'keyhold-start-fault-'))
    afterAll(() => rmSync(folder, { recursive: true, force: true }))

    it.each([
      ['auth-server/main.ts', 'from "auth"."users" where "auth"."users"."username_folded" <>'],
      ['start.ts', 'insert into "auth"."digest_secrets"'],
    ])('ends it with that line and exit code 1: %s', async (script, statement) => {
      await emptyDatabase()
      const url = await goingAway((message) => message.includes(statement), shutdown)
      const [AUTH_PORT, DEAL_PORT] = [String(await freePort()), String(await freePort())]
      const own = { AUTH_PORT, DEAL_PORT, DATA_DIR: folder, KEYS_DIR: await preparedKeysDir(), LOG_LEVEL: 'silent' }
      const child = startChild(script, { environment: { ...backend.environment, ...own, AUTH_DATABASE_URL: url } })
      expect(await child.ended()).toBe(1)
      expect(child.output().trimEnd()).toMatch(sentence)
    })
  })
})
