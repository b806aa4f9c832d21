/** Reads over replicas in any state: nobody sees older than he has seen or written on the present timeline. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DealReader } from '../../../deal-server/queries/ports.ts'
import { createReplicaReads } from '../../../deal-server/replicas/caller-reads.ts'
import { isPosition, type Position } from '../../../shared/platform/history/position.ts'
import type { Replica } from '../../../shared/platform/postgres/replicas.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { campaign } from '../../support/campaign.ts'

const runs = campaign({ short: 300, long: 20_000 })
const dealId = '00000000-0000-7000-8000-000000000001'

interface Standby {
  replayed: number
  timeline: number
  state: 'follows' | 'away' | 'promoted'
}

const steps = fc.array(
  fc.oneof(
    { weight: 10, arbitrary: fc.record({ does: fc.constant('write' as const), who: fc.nat(2), server: fc.nat(1) }) },
    { weight: 20, arbitrary: fc.record({ does: fc.constant('read' as const), who: fc.nat(2), server: fc.nat(1) }) },
    { weight: 14, arbitrary: fc.record({ does: fc.constant('replay' as const), which: fc.nat(1), by: fc.nat(3) }) },
    { arbitrary: fc.record({ does: fc.constant('go' as const), which: fc.nat(1) }), weight: 1 },
    { arbitrary: fc.record({ does: fc.constant('come' as const), which: fc.nat(1) }), weight: 1 },
    { arbitrary: fc.record({ does: fc.constant('stand alone' as const), which: fc.nat(1) }), weight: 1 },
    { arbitrary: fc.record({ does: fc.constant('fail over' as const), loses: fc.nat(3) }), weight: 1 },
  ),
  { minLength: 20, maxLength: 100, size: 'max' },
)

function positionOf(timeline: number, lsn: number): Position {
  const position = `${String(timeline).padStart(8, '0')}.${lsn.toString(16).toUpperCase().padStart(16, '0')}.00000007`
  if (!isPosition(position)) throw new Error('unreachable')
  return position
}

/** Each write adds one to the only deal: its version is the position. A replica may replay while it is read. */
function createWorld() {
  const primary = { written: 1, timeline: 1 }
  const standbys: Standby[] = [0, 1].map(() => ({ replayed: 0, timeline: 1, state: 'follows' }))
  const answer = (version: number) => ({ deal: { version }, command: undefined, purged: false })
  const replicaOf = (standby: Standby): Replica => ({
    name: 'replica',
    read: async () => {
      if (standby.state === 'away') throw new Unavailable('database')
      const at = () => (standby.state === 'promoted' ? undefined : positionOf(standby.timeline, standby.replayed))
      const replay = () => {
        if (standby.timeline === primary.timeline && standby.replayed < primary.written) standby.replayed += 1
      }
      const from = at()
      replay()
      // Another history has nothing of this one.
      const isOther = standby.state === 'promoted' || standby.timeline !== primary.timeline
      const result = answer(isOther ? 0 : standby.replayed) as never
      replay()
      return { result, from, to: at() }
    },
    check: async () => {},
    close: async () => {},
  })
  const openServer = () => {
    let note: (position: Position) => void = () => {}
    const tell = () => note(positionOf(primary.timeline, primary.written))
    const reader = {
      load: async () => {
        tell()
        return answer(primary.written)
      },
    } as unknown as DealReader
    let onReplicas = 0
    const database = {
      followPositions: (follow: typeof note) => {
        note = follow
      },
      ping: async () => tell(),
    }
    const begin = createReplicaReads({
      database,
      primary: reader,
      replicas: standbys.map(replicaOf),
      count: ([place]) => {
        if (place === 'replica') onReplicas += 1
      },
    })
    return { begin, tell, onReplicas: () => onReplicas }
  }
  return { primary, standbys, servers: [openServer(), openServer()] }
}

interface Caller {
  position: Position | undefined
  /** The version that was seen last, and on which timeline. */
  version: number
  timeline: number
}

async function play(todo: readonly (typeof steps extends fc.Arbitrary<infer Steps> ? Steps : never)[number][]) {
  const { primary, standbys, servers } = createWorld()
  const callers: Caller[] = [0, 1, 2].map(() => ({ position: undefined, version: 0, timeline: 1 }))
  for (const step of todo) {
    if (step.does === 'write' || step.does === 'read') {
      const [caller, server] = [callers[step.who], servers[step.server]]
      if (!caller || !server) throw new Error('unreachable')
      const reads = server.begin(caller.position)
      if (step.does === 'write') {
        primary.written += 1
        server.tell()
      }
      const version =
        step.does === 'write' ? primary.written : (await reads.reader.load(dealId, undefined)).deal?.version
      if (caller.timeline === primary.timeline) expect(version).toBeGreaterThanOrEqual(caller.version)
      Object.assign(caller, { version, timeline: primary.timeline })
      const position = reads.seen()
      if (position !== undefined && position > (caller.position ?? '')) caller.position = position
    } else if (step.does === 'fail over') {
      primary.written = Math.max(1, primary.written - step.loses)
      primary.timeline += 1
      // One standby follows the new primary, the other one the former, which goes on.
      const [first] = standbys
      if (first) Object.assign(first, { timeline: primary.timeline, replayed: primary.written, state: 'follows' })
      for (const { begin, tell } of servers) {
        begin(undefined)
        tell()
      }
    } else {
      const standby = standbys[step.which]
      if (!standby) throw new Error('unreachable')
      // One that has stood alone has a history of its own: it never follows again.
      if (step.does === 'go' && standby.state === 'follows') standby.state = 'away'
      if (step.does === 'come' && standby.state === 'away') standby.state = 'follows'
      if (step.does === 'stand alone') Object.assign(standby, { state: 'promoted', replayed: standby.replayed + 5 })
      if (step.does === 'replay') {
        const end = standby.timeline === primary.timeline ? primary.written : Number.POSITIVE_INFINITY
        standby.replayed = Math.min(end, standby.replayed + step.by)
      }
    }
  }
  return servers.reduce((sum, { onReplicas }) => sum + onReplicas(), 0)
}

describe('reads over replicas', () => {
  it('show nobody older than he has seen or written, and use replicas', { timeout: runs * 30 + 10_000 }, async () => {
    let onReplicas = 0
    await fc.assert(
      fc.asyncProperty(steps, async (todo) => {
        onReplicas += await play(todo)
      }),
      { numRuns: runs },
    )
    expect(onReplicas).toBeGreaterThan(runs / 10)
  })
})
