import { beforeAll, expect, it, vi } from 'vitest'
import { readCatalogue } from '../../../auth-server/principals/catalogue.ts'
import { maxServices } from '../../../auth-server/services/service.ts'
import { createServices, type Services } from '../../../auth-server/services/services.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { createMovableClock } from '../../support/worlds/movable-clock.ts'
import { createAuthSystems } from '../support/auth-core.ts'

describeDatabases('services in the database', (open) => {
  const { database } = databaseOfSuite(open)
  let services: Services
  const settled: number[] = []
  const clock = createMovableClock()

  beforeAll(() => {
    const systems = createAuthSystems({ database, clock })
    vi.spyOn(systems.publisher, 'waitUntilPublished').mockImplementation(async (number) => void settled.push(number))
    services = createServices({ accessTokenTtlSeconds: 60 }, systems)
  })

  const version = async () => (await readCatalogue(database)).version
  let serial = 0
  const make = () => services.create({ name: `a service ${++serial}`, resourceServer: 'deals' })

  it('are changes of the catalogue, which are announced before anybody is answered', async () => {
    const before = await version()
    const { service } = await make()
    const made = await version()
    await services.rotate(service.id, 0)
    const rotated = await version()
    await services.delete(service.id)
    expect([before, made, rotated, await version()]).toEqual([before, before + 1, before + 2, before + 3])
    expect(settled.slice(-3)).toEqual([made, rotated, await version()])
  })

  it('change nothing when they are refused', async () => {
    const before = await version()
    const none = '0192f0c0-0000-7000-8000-000000000000'
    await expect(services.create({ name: 'x', resourceServer: 'none' })).rejects.toMatchObject({
      code: 'invalid-value',
    })
    await expect(services.rotate(none, 0)).rejects.toMatchObject({ code: 'not-found' })
    await expect(services.delete(none)).rejects.toMatchObject({ code: 'not-found' })
    for (const id of ['', 'x', `${none}' or true`]) expect(await services.known(id)).toBeUndefined()
    expect(await version()).toBe(before)
  })

  it('of one name are made once, by however many at the same time', async () => {
    const outcomes = await Promise.allSettled(
      [1, 2, 3, 4].map(() => services.create({ name: 'wanted', resourceServer: 'deals' })),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'service-exists' })
  })

  it('prove themselves by their secrets, and by no other', async () => {
    const [{ service, secret }, other] = [await make(), await make()]
    expect(await services.bySecret(service.id, secret)).toMatchObject({
      service: { id: service.id, resourceServer: { id: 'deals', audience: 'deals' } },
      secret,
      until: null,
    })
    for (const wrong of [other.secret, '', `${secret} `, secret.slice(1)])
      expect(await services.bySecret(service.id, wrong)).toBeUndefined()
    expect(await services.bySecret('0192f0c0-0000-7000-8000-000000000000', secret)).toBeUndefined()
    const next = await services.rotate(service.id, 60)
    expect(await services.bySecret(service.id, secret)).toMatchObject({ until: expect.any(Number) })
    expect(await services.bySecret(service.id, next.secret)).toMatchObject({ until: null })
    clock.advanceSeconds(61)
    expect(await services.bySecret(service.id, secret)).toBeUndefined()
  })

  it('have tokens of their own, which nobody else can make', async () => {
    const [one, other] = [await make(), await make()]
    const proven = await services.bySecret(one.service.id, one.secret)
    const ofOther = await services.bySecret(other.service.id, other.secret)
    if (!proven || !ofOther) throw new Error('they are services')
    const { token = '', expiresInSeconds } = services.issueToken(proven) ?? {}
    expect(expiresInSeconds).toBe(60)
    expect(await services.byToken(token)).toMatchObject({ service: { id: one.service.id } })
    const [, id = '', expiry = '', mac = ''] = token.split('.')
    const strange = services.issueToken(ofOther)?.token.split('.').at(-1)
    for (const forged of [
      `khs1.${other.service.id}.${expiry}.${mac}`,
      `khs1.${id}.${Number(expiry) + 1}.${mac}`,
      `khs1.${id}.${expiry}.${strange}`,
      `khs1.${id}.${expiry}.${mac.slice(1)}`,
      `${token}.`,
      token.toUpperCase(),
      '',
    ])
      expect(await services.byToken(forged)).toBeUndefined()
    const isStill = await services.byToken(token)
    if (!isStill) throw new Error('the token is good')
    expect(await services.renewProof(isStill)).toMatchObject({ until: isStill.until })
    const { service } = await services.rotate(one.service.id, 30)
    expect(await services.renewProof(isStill)).toMatchObject({ until: service.formerUntil })
    expect(await services.renewProof(proven)).toMatchObject({ until: service.formerUntil })
    expect(await services.byToken(token)).toMatchObject({ until: service.formerUntil })
    await services.rotate(one.service.id, 0)
    expect(await services.renewProof(isStill)).toBeUndefined()
    expect(await services.byToken(token)).toBeUndefined()
  })

  it('are listed in pages, and there is a bound', async () => {
    await database.write('delete from auth.services')
    await database.write(
      `insert into auth.services (id, name, resource_server, secret_sealed, created_at)
        select gen_random_uuid(), 'made ' || n, 'deals', 'x', now() from generate_series(1, $1::text::int) n`,
      [maxServices - 1],
    )
    const found: string[] = []
    let after: Parameters<Services['list']>[0]['after']
    do {
      const page = await services.list({ limit: 200, after })
      found.push(...page.items.map(({ id }) => id))
      after = page.next
    } while (after)
    expect(new Set(found).size).toBe(maxServices - 1)
    expect((await services.list({ limit: 200, after: undefined, resourceServer: 'none' })).items).toEqual([])
    await make()
    await expect(make()).rejects.toMatchObject({ code: 'too-many-services' })
    await database.write('delete from auth.services')
  })
})
