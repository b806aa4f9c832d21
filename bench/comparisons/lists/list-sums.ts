/** What reads all deals: too much for a load of many callers, so one caller asks one request after the other. */
import type { OnRound } from '../../runner/compare.ts'
import { median, rounded } from '../../runner/figures.ts'
import type { Bench } from '../../servers/bench.ts'
import { type ListServer, openListServers } from './lists.ts'

interface Asked {
  readonly title: string
  readonly path: string
  readonly prefer?: string
}

const list = '/rest/v1/deals'
const hourAgo = () => new Date(Date.now() - 3_600_000).toISOString()

const requests = (): readonly Asked[] => [
  { title: 'the default list', path: list },
  { title: 'with `count=estimated`', path: list, prefer: 'count=estimated' },
  { title: 'with `count=exact`', path: list, prefer: 'count=exact' },
  { title: 'open deals with `count=exact`', path: `${list}?status=open`, prefer: 'count=exact' },
  { title: 'summary of all deals', path: `${list}/summary` },
  { title: 'summary by owner', path: `${list}/summary?by=ownerId` },
  { title: 'summary of open deals in euros', path: `${list}/summary?status=open&currency=EUR` },
  { title: '`updatedFrom` an hour ago', path: `${list}?updatedFrom=${hourAgo()}` },
  { title: '`q` of two characters, none found', path: `${list}?q=%C2%A7%C2%A7` },
  { title: '`q` of three characters, none found', path: `${list}?q=%C2%A7zq` },
]

/** Measures the time of each request over both databases. */
export async function measureListSums(bench: Bench, onRound: OnRound): Promise<string> {
  const servers = await openListServers(bench)
  const { rounds } = bench.settings
  const asked = requests()
  const times = asked.map(() => servers.map((): number[] => []))
  for (let round = 0; round <= rounds; round += 1) {
    onRound(round, rounds + 1)
    for (const [index, one] of asked.entries())
      for (const [at, server] of servers.entries()) {
        const time = await timeOf(one, server, bench.keyhold.accessToken)
        if (round > 0) times[index]?.[at]?.push(time)
      }
  }
  const sizes = servers.map(({ database }) => `${database.deals.toLocaleString('en')} deals`)
  const rows = asked.map(({ title }, index) => {
    const cells = (times[index] ?? []).map((found) => rounded(median(found)))
    return `| ${title} | ${cells.join(' | ')} |`
  })
  const head = [`| ms | ${sizes.join(' | ')} |`, `|---|${sizes.map(() => '---:|').join('')}`]
  return [
    '## Counts, sums and filters that read all deals',
    '',
    `Medians of ${rounds} rounds:`,
    '',
    ...head,
    ...rows,
    '',
  ].join('\n')
}

async function timeOf({ path, prefer }: Asked, { server }: ListServer, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, ...(prefer && { prefer }) }
  const started = performance.now()
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers })
  await response.arrayBuffer()
  if (response.status !== 200) throw new Error(`GET ${path}: ${response.status}`)
  return performance.now() - started
}
