import { describe, expect, it } from 'vitest'
import { PostgresServers } from '../../../../shared/platform/postgres/postgres-servers.ts'
import { parseDatabaseUrl, serverNameOf } from '../../../../shared/platform/postgres/postgres-url.ts'
import { allowHoldUps } from '../../../support/held-up.ts'

type State = { isStandby: boolean; isReadOnly: boolean; system?: string; timeline?: number }

const standby: State = { isStandby: true, isReadOnly: true }
const primary = (timeline = 1, system = 'one'): State => ({ isStandby: false, isReadOnly: false, system, timeline })
const never = () => new Promise<State>(() => {})

/** Servers that answer by `states`, by host; `never` for one that is frozen. Counts how often each is asked. */
function serversOf(url: string, states: Record<string, State | Error | typeof never>) {
  const asked: string[] = []
  const servers = new PostgresServers(parseDatabaseUrl(url), async (_, server) => {
    asked.push(server.host)
    const state = states[server.host]
    if (typeof state === 'function') return state()
    if (state === undefined || state instanceof Error) throw state ?? new Error('unreachable')
    return state
  })
  return { servers, asked, found: async () => serverNameOf(await servers.find()) }
}

describe('the servers of a database', () => {
  it('are not asked when there is one', async () => {
    const { asked, found } = serversOf('postgres://a', {})
    expect(await found()).toBe('a:5432')
    expect(asked).toEqual([])
  })

  it('are asked once by many callers, and not again before the found one is lost', async () => {
    const { servers, asked, found } = serversOf('postgres://a,b,c', { a: standby, b: primary(), c: standby })
    expect(new Set(await Promise.all(Array.from({ length: 20 }, found)))).toEqual(new Set(['b:5432']))
    expect(asked.sort()).toEqual(['a', 'b', 'c'])
    await found()
    expect(asked).toHaveLength(3)
    servers.forget(await servers.find())
    await found()
    expect(asked).toHaveLength(6)
  })

  it('have moved when a search has found another one', async () => {
    const states: Record<string, State> = { a: primary(), b: standby }
    const { servers, found } = serversOf('postgres://a,b', states)
    const first = await servers.find()
    expect(servers.hasMovedFrom(first)).toBe(false)
    Object.assign(states, { a: standby, b: primary(2) })
    servers.forget(first)
    expect(servers.hasMovedFrom(first)).toBe(false)
    expect(await found()).toBe('b:5432')
    expect(servers.hasMovedFrom(first)).toBe(true)
  })

  it('delay nobody when one does not answer', async () => {
    const { found } = serversOf('postgres://a,b', { a: never, b: primary() })
    const allowed = allowHoldUps()
    const startedAt = performance.now()
    expect(await found()).toBe('b:5432')
    expect(performance.now() - startedAt).toBeLessThan(allowed(900))
  })

  it('are asked again while one does not answer: another one may be promoted', async () => {
    const states: Record<string, State | typeof never> = { a: never, b: standby }
    const { found } = serversOf('postgres://a,b', states)
    setTimeout(() => {
      states.b = primary(2)
    }, 100)
    expect(await found()).toBe('b:5432')
  })

  it('are taken in the order of the URL where two could be', async () => {
    const { found } = serversOf('postgres://a,b', { a: primary(), b: primary() })
    expect(await found()).toBe('a:5432')
  })

  it('are the one that was promoted, not a former primary that came back', async () => {
    const states: Record<string, State | Error> = { a: primary(1), b: primary(2) }
    const { servers, found } = serversOf('postgres://a,b', states)
    expect(await found()).toBe('b:5432')
    // Even when the promoted one is away for a moment.
    states.b = new Error('away')
    servers.forget(await servers.find())
    await expect(servers.find()).rejects.toMatchObject({
      cause: { message: expect.stringMatching(/a:5432 was a primary before the promotion .* make it a standby/) },
    })
    states.b = primary(2)
    expect(await found()).toBe('b:5432')
    servers.forget(await servers.find())
    Object.assign(states, { a: primary(1, 'another cluster'), b: new Error('away') })
    expect(await found()).toBe('a:5432')
  })

  it('are refused with one line when none is a primary', async () => {
    const readOnly = { ...primary(), isReadOnly: true }
    const { servers } = serversOf('postgres://u:s3cret@a:1,b,[::1]:2', { a: standby, '::1': readOnly })
    const sentence =
      'no host of the URL is a primary that takes writes: a:1 is a standby; b:5432: the database driver failed: ' +
      'Error (XX000); [::1]:2 is read-only (default_transaction_read_only). Promote one, or name the primary'
    const error = await servers.find().catch((reason: unknown) => reason)
    expect(String((error as Error).cause).replace(' (XX000)', '')).toBe(`Error: ${sentence.replace(' (XX000)', '')}`)
  })

  it('may be anything when the URL says so', async () => {
    expect(await serversOf('postgres://a,b?target_session_attrs=any', { a: standby, b: primary() }).found()).toBe(
      'b:5432',
    )
    expect(await serversOf('postgres://a,b?target_session_attrs=any', { a: standby, b: standby }).found()).toBe(
      'a:5432',
    )
    const readOnly = { ...primary(), isReadOnly: true }
    expect(await serversOf('postgres://a,b?target_session_attrs=primary', { a: standby, b: readOnly }).found()).toBe(
      'b:5432',
    )
  })
})
