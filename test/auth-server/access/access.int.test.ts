import { afterEach, beforeAll, expect, it } from 'vitest'
import { storeSecondFactorRoles } from '../../../auth-server/access/change-catalogue.ts'
import { createClients } from '../../../auth-server/clients/clients.ts'
import { readCatalogue } from '../../../auth-server/principals/catalogue.ts'
import { builtInRights } from '../../../auth-server/principals/rights.ts'
import type { Grantor } from '../../../auth-server/users/granting-rights.ts'
import { rightsOfCommands } from '../../../deal-server/use-cases/index.ts'
import type { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { needsSecondFactor } from '../../../shared/protocol/principal/record.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { type AuthCore, createAuthCore, createAuthSystems, goodPassword } from '../support/auth-core.ts'
import { createTestClock } from '../support/test-clock.ts'

describeDatabases('the catalogue of rights and roles', (open) => {
  const clock = createTestClock()
  const { database } = databaseOfSuite(open)
  let core: AuthCore
  let serial = 0
  let admin: Grantor

  beforeAll(async () => {
    core = createAuthCore({ database, clock })
    await core.ensureAnonymous()
    admin = await grantorOf(await newUser({ roles: ['admin'] }))
  })
  afterEach(async () => {
    await storeSecondFactorRoles(database, [])
    for (const { id } of await core.resourceServers.list()) if (id !== 'deals') await core.resourceServers.delete(id)
  })

  async function newUser(grants: { roles?: string[]; rights?: string[] } = {}): Promise<string> {
    const username = `Access-${++serial}`
    await core.users.create({ username, password: goodPassword, ...grants })
    return username
  }
  const grantorOf = async (username: string): Promise<Grantor> => {
    const { userId } = (await core.record(username)) ?? expect.unreachable('there is no such user')
    const credential = {
      username,
      generation: undefined,
      loginId: undefined,
      expiresAt: undefined,
      audience: undefined,
    }
    return { userId, scheme: 'bearer', credential }
  }
  const rightsOf = async (username: string) => (await core.record(username))?.rights
  const codeOf = (promise: Promise<unknown>) =>
    promise.then(
      () => 'accepted',
      (error: ProblemError) => error.code,
    )
  const right = (name: string, readsOnly = false) => ({ name, description: '', readsOnly })
  const invoices = (...rights: string[]) => ({
    id: 'invoices',
    audience: 'urn:example:invoices',
    name: 'Invoices',
    rights: rights.map((name) => right(name)),
  })
  const role = (rights: string[]) => ({ description: '', rights })

  it('has at first what the code of the servers names, and the four roles', async () => {
    const { rights, roles } = await readCatalogue(database)
    expect(rights.map(({ name }) => name)).toEqual(builtInRights)
    expect(roles.map(({ name }) => name)).toEqual(['viewer', 'agent', 'manager', 'admin', 'seller'])
    expect(roles.find(({ name }) => name === 'admin')?.rights).toEqual(builtInRights)
  })

  it('announces clients whose commands wait for approval, in a new version at each change', async () => {
    const clients = createClients({ accessTokenTtlSeconds: 60 }, createAuthSystems({ database, clock }))
    const username = await newUser()
    const made = await clients.create(
      {
        name: 'assistant',
        kind: 'public',
        firstParty: false,
        redirectUris: ['https://app.example/callback'],
        postLogoutRedirectUris: [],
        rights: [],
        resourceServers: ['deals'],
        needsRight: null,
        requirePkce: true,
        mode: 'run',
        publicKeyPem: null,
      },
      admin,
    )
    const { id } = made.client
    for (const [mode, announced] of [
      ['propose', [id]],
      ['run', undefined],
    ] as const) {
      const { version } = await readCatalogue(database)
      await clients.patch(id, { patch: { mode }, grantor: admin })
      expect((await readCatalogue(database)).version).toBeGreaterThan(version)
      expect((await core.record(username))?.proposingClients).toEqual(announced)
    }
  })

  it('has rights that use cases of deals need at first, in the same words', async () => {
    const { rights } = await core.resourceServers.read('deals')
    const declared = new Map(rightsOfCommands.map((one) => [one.name, one]))
    const ofUseCases = rights.filter(({ name }) => declared.has(name))
    expect(ofUseCases.length).toBeGreaterThan(20)
    expect(ofUseCases).toEqual(ofUseCases.map(({ name }) => declared.get(name)))
  })

  it('takes rights that use cases need and it lacks, once, for the role admin and nobody else', async () => {
    const before = (await core.resourceServers.read('deals')).rights
    const [administrator, manager] = [await newUser({ roles: ['admin'] }), await newUser({ roles: ['manager'] })]
    const engraving = { name: 'deal.engrave', description: 'Engrave deals', readsOnly: false }
    await core.resourceServers.declareOwn([...before, engraving])
    await core.resourceServers.declareOwn([{ ...engraving, description: 'In other words' }])
    expect((await core.resourceServers.read('deals')).rights).toEqual([...before, engraving])
    expect(await rightsOf(administrator)).toContain('deal.engrave')
    expect(await rightsOf(manager)).not.toContain('deal.engrave')
    await core.resourceServers.patch('deals', { rights: before })
    expect(await rightsOf(administrator)).not.toContain('deal.engrave')
  })

  it('takes no right of another resource server for one of use cases, and none of the others with it', async () => {
    await core.resourceServers.create(invoices('invoice.approve'))
    const declared = [right('deal.engrave'), right('invoice.approve')]
    expect(await codeOf(core.resourceServers.declareOwn(declared))).toBe('right-exists')
    expect((await readCatalogue(database)).rights.map(({ name }) => name)).not.toContain('deal.engrave')
  })

  it('gives no right of deals to another resource server', async () => {
    expect(await codeOf(core.resourceServers.create(invoices('deal.archive')))).toBe('right-exists')
    expect(await codeOf(core.resourceServers.create(invoices('deal.archive:own')))).toBe('right-exists')
  })

  it('lets roles give so many rights in all, and no more', async () => {
    const names = Array.from({ length: 1_900 }, (_, index) => `thing-${index}.do`)
    await core.resourceServers.create(invoices(...names))
    for (let index = 0; index < 10; index += 1) await core.roles.create(`large-${index}`, role(names), admin)
    expect(await codeOf(core.roles.create('too-large', role(names), admin))).toBe('too-many-rights')
    expect(await codeOf(core.roles.create('small', role(['deal.read']), admin))).toBe('accepted')
    expect(await codeOf(core.roles.replace('small', role(names), admin))).toBe('too-many-rights')
    for (const name of [...Array.from({ length: 10 }, (_, index) => `large-${index}`), 'small'])
      await core.roles.delete(name)
  })

  it('takes a role from a user whose direct rights are changed at the same time, and does not give it back', async () => {
    for (let round = 0; round < 12; round += 1) {
      await core.roles.create('temporary', role(['deal.read']), admin)
      const username = await newUser({ roles: ['temporary'] })
      const rights = round % 2 === 0 ? ['deal.rename'] : []
      await Promise.allSettled([core.roles.delete('temporary'), core.users.patch(username, { rights, enabled: true })])
      expect((await core.users.read(username)).roles).toEqual([])
    }
  })

  it('gives each holder of a role what the role has now', async () => {
    await core.resourceServers.create(invoices('invoice.approve', 'invoice.read'))
    await core.roles.create('approver', role(['invoice.approve']), admin)
    const username = await newUser({ roles: ['approver', 'viewer'] })
    expect(await rightsOf(username)).toEqual(['deal.read', 'deal.history.read', 'invoice.approve'])
    const before = (await core.record(username))?.version
    await core.roles.replace('approver', role(['invoice.read']), admin)
    expect(await rightsOf(username)).toEqual(['deal.read', 'deal.history.read', 'invoice.read'])
    expect((await core.record(username))?.version).toBe(before)
    await core.roles.delete('approver')
    expect(await rightsOf(username)).toEqual(['deal.read', 'deal.history.read'])
    expect((await core.users.read(username)).roles).toEqual(['viewer'])
  })

  it('gives the role admin every right at once', async () => {
    const username = await newUser({ roles: ['admin'] })
    await core.resourceServers.create(invoices('invoice.approve'))
    expect(await rightsOf(username)).toEqual([...builtInRights, 'invoice.approve'])
    await core.resourceServers.delete('invoices')
    expect(await rightsOf(username)).toEqual(builtInRights)
  })

  it('takes a withdrawn right from users, roles and API keys, and does not give it back with its name', async () => {
    await core.resourceServers.create(invoices('invoice.approve', 'invoice.read'))
    await core.roles.create('approver', role(['invoice.approve', 'invoice.read']), admin)
    const [direct, holder] = [await newUser({ rights: ['invoice.approve'] }), await newUser({ roles: ['approver'] })]
    await core.resourceServers.patch('invoices', { rights: [right('invoice.read')] })
    expect(await rightsOf(direct)).toEqual([])
    expect(await rightsOf(holder)).toEqual(['invoice.read'])
    await core.resourceServers.patch('invoices', { rights: [right('invoice.read'), right('invoice.approve')] })
    expect(await rightsOf(direct)).toEqual([])
    expect((await core.users.read(direct)).rights).toEqual([])
    expect(await rightsOf(holder)).toEqual(['invoice.read'])
    await core.roles.delete('approver')
  })

  it('does not give a role back to those who had one of the same name', async () => {
    await core.roles.create('temporary', role(['deal.read']), admin)
    const username = await newUser({ roles: ['temporary'] })
    await core.roles.delete('temporary')
    await core.roles.create('temporary', role(['deal.read']), admin)
    expect(await rightsOf(username)).toEqual([])
    await core.roles.delete('temporary')
  })

  it.each([
    ['a role of this name', () => core.roles.create('viewer', role([]), admin), 'role-exists'],
    ['an unknown right', () => core.roles.create('other', role(['no.such']), admin), 'invalid-value'],
    ['a role in a role', () => core.roles.create('other', role(['viewer']), admin), 'invalid-value'],
    ['another admin', () => core.roles.replace('admin', role([]), admin), 'reserved-role'],
    ['no admin', () => core.roles.delete('admin'), 'reserved-role'],
    ['a role that is not there', () => core.roles.replace('nothing', role([]), admin), 'not-found'],
    ['a taken id', () => core.resourceServers.create({ ...invoices(), id: 'deals' }), 'resource-server-exists'],
    [
      'a taken audience',
      () => core.resourceServers.create({ ...invoices(), audience: 'deals' }),
      'resource-server-exists',
    ],
    [
      'an origin of the pair',
      () => core.resourceServers.create({ ...invoices(), audience: 'http://localhost:4001' }),
      'resource-server-exists',
    ],
    ['a taken right', () => core.resourceServers.create(invoices('deal.read')), 'right-exists'],
    [
      'too many rights',
      () => core.resourceServers.create(invoices(...Array.from({ length: 2_000 }, (_, n) => `invoice.r${n}`))),
      'too-many-rights',
    ],
    ['the pair without a right', () => core.resourceServers.patch('deals', { rights: [] }), 'reserved-resource-server'],
    [
      'another audience of the pair',
      () => core.resourceServers.patch('deals', { audience: 'urn:other' }),
      'reserved-resource-server',
    ],
    ['no pair', () => core.resourceServers.delete('deals'), 'reserved-resource-server'],
  ])('refuses %s', async (_, attempt, code) => {
    const before = await readCatalogue(database)
    expect(await codeOf(attempt())).toBe(code)
    expect(await readCatalogue(database)).toEqual(before)
  })

  it('lets a caller give and take only rights that the caller has, also of a role that the caller has', async () => {
    await core.roles.create('clerk', role(['user.manage', 'deal.read']), admin)
    const clerk = await grantorOf(await newUser({ roles: ['clerk'] }))
    expect(await codeOf(core.roles.create('made', role(['deal.read']), clerk))).toBe('accepted')
    expect(await codeOf(core.roles.replace('made', role(['deal.read', 'deal.hold']), clerk))).toBe('missing-right')
    expect(await codeOf(core.roles.replace('clerk', role(['user.manage', 'deal.hold']), clerk))).toBe('missing-right')
    expect(await codeOf(core.roles.replace('manager', role(['deal.read']), clerk))).toBe('missing-right')
    expect(await codeOf(core.roles.create('more', role(['deal.hold']), clerk))).toBe('missing-right')
    expect(await codeOf(core.roles.replace('made', role([]), clerk))).toBe('accepted')
    expect(await codeOf(core.roles.delete('seller', clerk))).toBe('missing-right')
    for (const name of ['made', 'clerk']) await core.roles.delete(name, clerk)
  })

  it('gives the principal anonymous no more than reading rights through a role', async () => {
    await core.roles.create('reader', role(['deal.read']), admin)
    await core.users.patch('anonymous', { roles: ['reader'] })
    expect(await codeOf(core.roles.replace('reader', role(['deal.read', 'deal.hold']), admin))).toBe('invalid-value')
    expect(await rightsOf('anonymous')).toEqual(['deal.read'])
    await core.users.patch('anonymous', { roles: [] })
    await core.roles.delete('reader')
  })

  it('demands a second factor of all who have what only a listed role gives, by whatever role', async () => {
    await core.roles.create('helpdesk', role(['deal.read']), admin)
    const username = await newUser({ roles: ['helpdesk'] })
    const { refresh_token: token } = await core.logIn({ username, password: goodPassword })
    await storeSecondFactorRoles(database, ['admin'])
    const demanded = async () => needsSecondFactor((await core.record(username)) ?? expect.unreachable())
    expect(await demanded()).toBe(false)
    const before = (await core.record(username))?.version ?? 0
    await core.roles.replace('helpdesk', role(['deal.read', 'user.manage']), admin)
    expect(await demanded()).toBe(true)
    expect((await core.record(username))?.version).toBeGreaterThan(before)
    expect((await core.record(username))?.revokedIds).toHaveLength(2)
    expect(await codeOf(core.refresh(token))).toBe('invalid_grant')
    await core.roles.replace('helpdesk', role(['deal.read']), admin)
    expect(await demanded()).toBe(false)
    await core.roles.replace('helpdesk', role(['user.manage']), admin)
    await core.roles.delete('helpdesk')
    expect(await demanded()).toBe(false)
  })

  it('keeps a role that SECOND_FACTOR_ROLES names, and takes no name that is no role', async () => {
    await core.roles.create('listed', role(['deal.read']), admin)
    await storeSecondFactorRoles(database, ['listed'])
    expect(await codeOf(core.roles.delete('listed'))).toBe('reserved-role')
    await expect(storeSecondFactorRoles(database, ['nothing'])).rejects.toThrow('there is no role nothing')
    await storeSecondFactorRoles(database, [])
    await core.roles.delete('listed')
  })

  it('grants nothing that is deleted at the same time', async () => {
    for (let round = 0; round < 5; round += 1) {
      await core.roles.create('racing', role(['deal.read']), admin)
      const username = await newUser()
      await Promise.allSettled([core.users.patch(username, { roles: ['racing'] }), core.roles.delete('racing')])
      expect((await core.users.read(username)).roles).toEqual([])
    }
  })
})
