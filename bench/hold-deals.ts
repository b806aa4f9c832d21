import { createDealRepository } from '../deal-server/store/deals.ts'
import { type Bench, cyclesFor, dealNumbers, httpTurn } from './bench.ts'
import type { Comparison, Subject, Turn } from './compare.ts'
import { type CommitTemplates, commitFor, recordCommits } from './one-commit.ts'
import { pgbenchCommits } from './pgbench.ts'
import { dealId, holdAndUnhold } from './requests.ts'

/**
 * Compares HoldDeal and UnholdDeal in turn (over HTTP, and the commit alone) with pgbench, which runs the same commit.
 */
export async function holdDeals(bench: Bench): Promise<Comparison> {
  const { clients, servers } = bench
  const newDeals = dealNumbers(bench)
  const repository = createDealRepository(servers.database)
  const templates = await recordCommits(servers, newDeals(1))
  const http = (name: string, named: boolean): Subject => {
    const first = newDeals(clients)
    const requestsOf = (client: number) => holdAndUnhold(first + client, servers.accessToken, { named })
    const cycles = cyclesFor(clients, servers.port, requestsOf)
    return { name, turn: (seconds) => httpTurn(bench, { cycles, expected: '200' }, seconds) }
  }
  const inStore: Subject = {
    name: 'the commit of the repository',
    turn: (seconds) => {
      const first = newDeals(clients)
      const ids = Array.from({ length: clients }, (_, client) => dealId(first + client))
      return commitInTurn(seconds, { repository, templates, ids })
    },
  }
  return {
    title: 'HoldDeal and UnholdDeal by 32 callers',
    unit: 'commits',
    floor: await pgbenchCommits(bench.url, { clients, newDeals, templates }),
    subjects: [inStore, http('over HTTP, Bearer', false), http('over HTTP, Bearer, with Idempotency-Key', true)],
  }
}

interface CommitWork {
  readonly repository: ReturnType<typeof createDealRepository>
  readonly templates: CommitTemplates
  readonly ids: readonly string[]
}

/** Commits in turn: each caller holds and unholds its own deal. */
async function commitInTurn(seconds: number, { repository, templates, ids }: CommitWork): Promise<Turn> {
  const cpu = process.cpuUsage()
  const started = performance.now()
  const until = started + seconds * 1000
  let commits = 0
  const caller = async (id: string) => {
    for (let version = 1; performance.now() < until; version += 1) {
      const result = await repository.commit(
        commitFor(version % 2 ? templates.hold : templates.unhold, { id, version }),
      )
      if (result !== 'committed') throw new Error(`The commit of a deal without other writers was ${result}.`)
      commits += 1
    }
  }
  await Promise.all(ids.map(caller))
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: (commits * 1000) / (performance.now() - started), cpuMicroseconds: (user + system) / commits }
}
