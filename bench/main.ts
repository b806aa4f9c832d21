/** `npm run bench [-- filter]`: runs the comparisons and prints them. README.md describes them. */
import { compare } from './compare.ts'
import { measureCostliest } from './costliest.ts'
import { makeDeals } from './deals.ts'
import { NotPossible, openEnvironment } from './environment.ts'
import { compareFreshness, compareRecords, compareSeals } from './freshness.ts'
import { holdDeals } from './hold-deals.ts'
import { measureKeyRing } from './key-ring.ts'
import { verifyKeySigned } from './key-signed.ts'
import { type ListDatabases, openListDatabases } from './list-databases.ts'
import { listComparisons } from './lists.ts'
import { measureLiveEvents } from './live-events.ts'
import { startLoad } from './load/load.ts'
import { compareLogins, measureReadsBesideLogins } from './logins.ts'
import { readOneDeal } from './read-one-deal.ts'
import { startServers } from './servers.ts'
import { compareNamedStyles, compareStyles } from './styles.ts'
import { measureVerifyingBesideHashes, readWithNewTokens, verifyTokens } from './verify-tokens.ts'

const clients = 32
const settings = {
  rounds: Number(process.env.BENCH_ROUNDS ?? 21),
  seconds: Number(process.env.BENCH_SECONDS ?? 1),
  deals: Number(process.env.BENCH_DEALS ?? 100_000),
  listedDeals: Math.min(1_000_000, Number(process.env.BENCH_DEALS ?? 1_000_000)),
}

try {
  await main(process.argv[2] ?? '')
} catch (error) {
  if (!(error instanceof NotPossible)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}

async function main(filter: string): Promise<void> {
  const environment = await openEnvironment(process.env)
  const load = startLoad()
  let lists: Promise<ListDatabases> | undefined
  const openLists = () => {
    lists ??= openListDatabases(environment.database.url, settings.listedDeals)
    return lists
  }
  try {
    const servers = await startServers(environment)
    await makeDeals(servers, settings.deals)
    const bench = { clients, deals: settings.deals, servers, load, url: environment.database.url }
    const comparisons = {
      'read-one-deal': readOneDeal,
      'key-signed': verifyKeySigned,
      'verify-tokens': verifyTokens,
      'verify-new-tokens': readWithNewTokens,
      costliest: measureCostliest,
      logins: compareLogins,
      'hold-deals': holdDeals,
      styles: compareStyles,
      'named-styles': compareNamedStyles,
      freshness: compareFreshness,
      'freshness-alone': compareRecords,
      'freshness-seals': compareSeals,
      ...listComparisons(openLists),
    }
    for (const [name, comparison] of Object.entries(comparisons)) {
      if (!name.includes(filter)) continue
      const compared = await comparison(bench)
      process.stdout.write(`${await compare(compared, settings)}\n`)
      await compared.close?.()
    }
    if ('reads-beside-logins'.includes(filter)) {
      process.stdout.write(`${await measureReadsBesideLogins(bench, settings)}\n`)
    }
    if ('verify-beside-hashes'.includes(filter)) {
      process.stdout.write(`${await measureVerifyingBesideHashes(settings)}\n`)
    }
    if ('events'.includes(filter)) {
      const { redisUrl } = environment
      process.stdout.write(`${await measureLiveEvents({ ...bench, redisUrl }, settings)}\n`)
    }
    // This comes last, because it makes all tokens invalid.
    if ('ring'.includes(filter)) process.stdout.write(`${await measureKeyRing(bench, settings)}\n`)
    await servers.close()
  } finally {
    load.close()
    await (await lists)?.close()
    await environment.database.drop()
  }
}
