import { beforeAll, expect, it, vi } from 'vitest'
import { createApiKeys } from '../../../auth-server/api-keys/api-keys.ts'
import { readEntries } from '../../../auth-server/audit/read-entries.ts'
import { verifyChain } from '../../../auth-server/audit/verify-chain.ts'
import { recordReencryption } from '../../../auth-server/cli/offline/record-operation.ts'
import { recoverAdmin } from '../../../auth-server/cli/offline/recover-admin.ts'
import { reencrypt } from '../../../auth-server/cli/offline/reencrypt.ts'
import type { ClientRequest } from '../../../auth-server/clients/client.ts'
import { createClients } from '../../../auth-server/clients/clients.ts'
import { refreshTokenData } from '../../../auth-server/logins/refresh.ts'
import { createPasswordHashing } from '../../../auth-server/passwords/password-hashing.ts'
import { createCatalogues } from '../../../auth-server/principals/catalogue.ts'
import { createPrincipalReader } from '../../../auth-server/principals/principal-reader.ts'
import { totpSecretData } from '../../../auth-server/second-factors/factor-state.ts'
import { createServices } from '../../../auth-server/services/services.ts'
import { createSealing } from '../../../auth-server/store/sealing.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import { ensureAnonymous, insertUser } from '../../../auth-server/users/create-user.ts'
import { createDigestSecrets } from '../../../auth-server/users/digest-secrets.ts'
import type { Grantor } from '../../../auth-server/users/granting-rights.ts'
import { systemClock as clock } from '../../../shared/platform/clock.ts'
import { createIdSource } from '../../../shared/platform/ids.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { createAuthSystems } from '../support/auth-core.ts'

const keyText = (byte: number) => Buffer.alloc(32, byte).toString('base64url')
const oldKey = parseSecretsKeys(keyText(1))
const newKey = parseSecretsKeys(keyText(2))
const both = parseSecretsKeys(`${keyText(2)},${keyText(1)}`)
const ids = createIdSource(clock)
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** A client whose tokens may do nothing: anybody may make it. */
const application: ClientRequest = {
  name: 'application',
  kind: 'confidential',
  firstParty: false,
  redirectUris: ['https://app.example/callback'],
  postLogoutRedirectUris: [],
  rights: [],
  resourceServers: ['deals'],
  needsRight: null,
  requirePkce: true,
  mode: 'run',
  publicKeyPem: null,
}
const grantor: Grantor = { userId: ids.uuid(), scheme: 'bearer', credential: {} as Grantor['credential'] }

describeDatabases('work on the data of an auth server offline', (open) => {
  const { database } = databaseOfSuite(open)
  beforeAll(() => ensureAnonymous({ database, clock, ids }))

  const user = (username: string, more: object = {}) =>
    insertUser(
      { database, clock, ids },
      { username, passwordHash: null, roles: [], rights: [], enabled: true, ...more },
    )

  const systemsUnder = (secretsKeys: typeof oldKey) => {
    const systems = createAuthSystems({ database, clock, secretsKeys })
    vi.spyOn(systems.publisher, 'waitUntilPublished').mockResolvedValue()
    return systems
  }
  const keysUnder = (secretsKeys = oldKey) => {
    return createApiKeys({ rsaPairsPerMinute: 10 }, systemsUnder(secretsKeys))
  }

  const servicesUnder = (secretsKeys: typeof oldKey) =>
    createServices({ accessTokenTtlSeconds: 60 }, systemsUnder(secretsKeys))
  const clientsUnder = (secretsKeys: typeof oldKey) =>
    createClients({ accessTokenTtlSeconds: 60 }, systemsUnder(secretsKeys))
  const digestsUnder = (secretsKeys: typeof oldKey) => createDigestSecrets(systemsUnder(secretsKeys))

  it('recover-admin makes an administrator where there is none, once', async () => {
    const hashing = createPasswordHashing({ concurrency: 1 })
    const ports = { database, clock, ids, hashing, log, secretsKeys: oldKey }
    const { record } = createPrincipalReader({ database, clock, catalogues: createCatalogues(database) })
    const made = await recoverAdmin(ports, 'admin')
    expect(made).toMatchObject({ username: 'admin', created: true })
    const first = await record('admin')
    expect(first?.rights).toContain('user.manage')
    const again = await recoverAdmin(ports, 'ADMIN')
    expect(again).toMatchObject({ username: 'admin', created: false })
    expect(again.password).not.toBe(made.password)
    const second = await record('admin')
    expect(second?.version).toBeGreaterThan(first?.version ?? 0)
    expect(second?.generation).toBe((first?.generation ?? 0) + 1)
    // What failed before does not lock the account any more.
    expect(second?.throttleGeneration).toBe((first?.throttleGeneration ?? 0) + 1)
    const { items } = await readEntries(database, { after: 0, limit: 9 })
    expect(items).toMatchObject([1, 2].map((seq) => ({ seq, action: 'user.recovered', target: 'admin', actor: null })))
  })

  it('recover-admin lets in a user who was disabled or lost the second factor, and a name that was deleted', async () => {
    const ports = { database, clock, ids, hashing: { hash: async () => '$argon2id$x' }, log, secretsKeys: oldKey }
    await user('off', { roles: ['viewer'], enabled: false })
    await oneTimeCodes('off')
    expect(await recoverAdmin(ports, 'off')).toMatchObject({ created: false })
    expect(await database.query('select 1 as one from auth.second_factors')).toEqual([])
    await user('gone')
    await database.query("delete from auth.users where username = 'gone'")
    expect(await recoverAdmin(ports, 'gone')).toMatchObject({ created: true })
    const users = await database.query<{ row: object }>(
      `select json_build_object('username', username, 'roles', to_json(roles), 'enabled', enabled) as row from auth.users
        where username in ('off', 'gone') order by username`,
    )
    expect(users.map(({ row }) => row)).toEqual([
      { username: 'gone', roles: ['admin'], enabled: true },
      { username: 'off', roles: ['viewer', 'admin'], enabled: true },
    ])
  })

  it('recover-admin refuses names of nobody, and a key that the audit log does not know, and changes nothing', async () => {
    const ports = { database, clock, ids, hashing: { hash: async () => '$argon2id$x' }, log, secretsKeys: oldKey }
    const counter = () => database.query('select value::text as value from auth.principal_change_counter')
    const before = await counter()
    for (const name of ['anonymous', 'a b', '']) await expect(recoverAdmin(ports, name)).rejects.toThrow()
    await expect(recoverAdmin({ ...ports, secretsKeys: newKey }, 'admin')).rejects.toThrow(/SECRETS_KEY is not that/)
    expect(await counter()).toEqual(before)
    const { fault } = await verifyChain({ database, secretsKeys: oldKey })
    expect(fault).toBeUndefined()
  })

  it('reencrypt is in the audit log with the operator, and never under a key that the servers do not hold', async () => {
    const entries = async () => (await readEntries(database, { limit: 100, filter: { action: 'secrets.*' } })).items
    await recordReencryption({ database, clock, secretsKeys: newKey, operator: 'erin' })
    expect(await entries()).toEqual([])
    await recordReencryption({ database, clock, secretsKeys: oldKey, operator: 'erin' })
    expect(await entries()).toMatchObject([{ action: 'secrets.reencrypted', actor: 'erin', scheme: 'ops' }])
  })

  const family = async (username: string, sealed: string | null, id = ids.uuid()) => {
    const later = new Date(clock.now() + 3_600_000).toISOString()
    await database.query(
      `insert into auth.login_families (id, user_id, username_folded, generation, counter, rotated_at, successor_sealed,
          created_at, last_used_at, expires_at, refresh_expires_at, tokens_expire_at)
        select $1::text::uuid, id, username_folded, 1, 3, case when $3::text is null then null else now() end, $3::text,
          now(), now(), $4::text::timestamptz, $4::text::timestamptz, $4::text::timestamptz
        from auth.users where username = $2::text`,
      [id, username, sealed, later],
    )
    return id
  }

  const oneTimeCodes = async (username: string) => {
    const id = ids.uuid()
    await database.query(
      `insert into auth.second_factors (id, user_id, kind, name, secret_sealed, used_step, created_at)
        select $1::text::uuid, id, 'totp', 'App', $3::text, 1, now() from auth.users where username = $2::text`,
      [id, username, createSealing(oldKey).seal('a secret', totpSecretData(id))],
    )
  }

  const sealedTexts = async () => {
    const rows = await database.query<{ sealed: string }>(
      `select secret_sealed as sealed from auth.api_keys where secret_sealed is not null
        union all select former_secret_sealed from auth.api_keys where former_secret_sealed is not null
        union all select secret_sealed from auth.services
        union all select former_secret_sealed from auth.services where former_secret_sealed is not null
        union all select secret_sealed from auth.clients
        union all select former_secret_sealed from auth.clients where former_secret_sealed is not null
        union all select ha1_sealed from auth.digest_secrets
        union all select secret_sealed from auth.second_factors where secret_sealed is not null
        union all select successor_sealed from auth.login_families where successor_sealed is not null`,
    )
    return rows.map(({ sealed }) => sealed)
  }

  it('reencrypt seals everything under the new key, in batches, and what it sealed opens', async () => {
    await user('alice')
    const made = []
    for (let index = 0; index < 7; index += 1) {
      made.push(await keysUnder().create({ kind: 'hmac', username: 'alice' }))
    }
    const [rotated] = made
    if (!rotated) throw new Error('no key was made')
    const { secret: present } = await keysUnder().rotate(rotated.key.id, { overlapSeconds: 60 }, { owner: {} })
    const id = ids.uuid()
    await family('alice', createSealing(oldKey).seal('a refresh token', refreshTokenData(id, 3)), id)
    await family('alice', null)
    await oneTimeCodes('alice')
    await digestsUnder(oldKey).renew('alice')
    const digest = await digestsUnder(oldKey).find({ username: 'alice' })
    const { service, secret: formerSecret } = await servicesUnder(oldKey).create({ name: 'a', resourceServer: 'deals' })
    const { secret: presentSecret } = await servicesUnder(oldKey).rotate(service.id, 60)
    const { client, secret: formerOfClient } = await clientsUnder(oldKey).create(application, grantor)
    const { secret: presentOfClient } = await clientsUnder(oldKey).rotate(client.id, { overlapSeconds: 60, grantor })
    const progress: string[] = []
    const onProgress = (done: number, total: number) => void progress.push(`${done} of ${total}`)
    expect(await reencrypt({ database, secretsKeys: both }, { batchSize: 3, onProgress })).toEqual({
      'API key secrets': { resealed: 7, unreadable: 0, left: 0 },
      'former API key secrets': { resealed: 1, unreadable: 0, left: 0 },
      'secrets of services': { resealed: 1, unreadable: 0, left: 0 },
      'former secrets of services': { resealed: 1, unreadable: 0, left: 0 },
      'secrets of clients': { resealed: 1, unreadable: 0, left: 0 },
      'former secrets of clients': { resealed: 1, unreadable: 0, left: 0 },
      'Digest secrets': { resealed: 1, unreadable: 0, left: 0 },
      'secrets of one-time codes': { resealed: 1, unreadable: 0, left: 0 },
      'refresh tokens': { resealed: 1, unreadable: 0, left: 0 },
    })
    expect(progress.at(-1)).toBe('15 of 15')
    expect((await sealedTexts()).map((text) => text.split('.')[1])).toEqual(Array(15).fill(newKey[0].id))
    expect(await digestsUnder(newKey).find({ username: 'alice' })).toEqual(digest)
    const secrets = (await servicesUnder(newKey).known(service.id))?.secrets.map(({ secret }) => secret)
    expect(secrets).toEqual([presentSecret, formerSecret])
    const ofClient = (await clientsUnder(newKey).known(client.id))?.secrets?.map(({ secret }) => secret)
    expect(ofClient).toEqual([presentOfClient, formerOfClient])
    const keys = keysUnder(newKey)
    for (const { key, secret } of made.slice(1)) expect((await keys.material(key.id))?.secret).toBe(secret)
    expect(await keys.material(rotated.key.id)).toMatchObject({ secret: present, former: { secret: rotated.secret } })
    const [row] = await database.query<{ sealed: string }>(
      'select successor_sealed as sealed from auth.login_families where id = $1::text::uuid',
      [id],
    )
    expect(createSealing(newKey).open(row?.sealed ?? '', refreshTokenData(id, 3))).toBe('a refresh token')
    const again = await reencrypt({ database, secretsKeys: both })
    expect(again['API key secrets']).toEqual({ resealed: 0, unreadable: 0, left: 0 })
  })

  it('reencrypt leaves what it cannot read, and what a server has replaced meanwhile', async () => {
    const damaged = await keysUnder(parseSecretsKeys(keyText(9))).create({ kind: 'hmac', username: 'alice' })
    const sealing = createSealing(oldKey)
    const id = await family('alice', 'x')
    const place = refreshTokenData(id, 3)
    const before = sealing.seal('the token before', place)
    const set = (sealed: string) =>
      database.query('update auth.login_families set successor_sealed = $2::text where id = $1::text::uuid', [
        id,
        sealed,
      ])
    await set(before)
    const latest = sealing.seal('the token that a server has written', place)
    // Between reading and writing, as a refresh at a running server does.
    const racing = {
      query: (text: string, parameters: never) => database.query(text, parameters),
      write: async (text: string, parameters: never) => {
        if (/update "auth"."login_families"/.test(text)) await set(latest)
        return database.write(text, parameters)
      },
    } as typeof database
    expect(await reencrypt({ database: racing, secretsKeys: both })).toEqual({
      'API key secrets': { resealed: 0, unreadable: 1, left: 1 },
      'former API key secrets': { resealed: 0, unreadable: 0, left: 0 },
      'secrets of services': { resealed: 0, unreadable: 0, left: 0 },
      'former secrets of services': { resealed: 0, unreadable: 0, left: 0 },
      'secrets of clients': { resealed: 0, unreadable: 0, left: 0 },
      'former secrets of clients': { resealed: 0, unreadable: 0, left: 0 },
      'Digest secrets': { resealed: 0, unreadable: 0, left: 0 },
      'secrets of one-time codes': { resealed: 0, unreadable: 0, left: 0 },
      'refresh tokens': { resealed: 0, unreadable: 0, left: 1 },
    })
    expect(await sealedTexts()).toContain(latest)
    expect((await reencrypt({ database, secretsKeys: both }))['refresh tokens']).toMatchObject({ resealed: 1, left: 0 })
    await keysUnder().revoke(damaged.key.id, {})
  })
})
