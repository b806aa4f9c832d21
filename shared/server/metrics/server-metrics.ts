import type { HashingLoad } from '../../platform/crypto/hashing-permits.ts'
import type { Housekeeping } from '../../platform/database/housekeeping.ts'
import type { Dependency } from '../../platform/http/server/health.ts'
import type { Metrics, ServerName } from '../../platform/metrics/metrics.ts'
import { projectVersion } from '../../platform/project-folder.ts'

interface ServerParts {
  readonly dependencies: readonly Dependency[]
  readonly housekeeping: Housekeeping
  readonly hashing: () => HashingLoad
}

/** Metrics of the dependencies, housekeeping and hashing of a server. Each value is read when metrics are requested. */
export function observeServer(
  metrics: Metrics,
  server: ServerName,
  { dependencies, housekeeping, hashing }: ServerParts,
): void {
  const version = projectVersion()
  metrics.gauge(
    { name: 'build_info', help: 'Always 1; the labels say which build runs.', labels: ['version', 'node'] },
    server,
    () => [{ labels: { version, node: process.versions.node }, value: 1 }],
  )
  metrics.gauge(
    {
      name: 'dependency_up',
      help: '1 when the dependency answers, as at /readyz.',
      labels: ['dependency'],
    },
    server,
    () => Promise.all(dependencies.map(async (one) => ({ labels: { dependency: one.name }, value: await isUp(one) }))),
  )
  metrics.total(
    { name: 'housekeeping_removed_total', help: 'What has expired and was removed.', labels: ['job'] },
    server,
    () => [...housekeeping.removed()].map(([job, value]) => ({ labels: { job }, value })),
  )
  metrics.gauge({ name: 'password_hashes', help: 'Argon2 hashes of this server.', labels: ['state'] }, server, () => {
    const { running, waiting } = hashing()
    return [
      { labels: { state: 'running' }, value: running },
      { labels: { state: 'waiting' }, value: waiting },
    ]
  })
  metrics.total({ name: 'password_hashes_refused_total', help: 'Hashes that found the queue full.' }, server, () => [
    { value: hashing().refused },
  ])
}

async function isUp({ check }: Dependency): Promise<number> {
  try {
    await check()
    return 1
  } catch {
    return 0
  }
}
