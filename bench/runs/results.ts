/** What was measured where: the first line of a file of results. */
import { execFileSync } from 'node:child_process'
import { arch, cpus, loadavg, platform, totalmem } from 'node:os'
import type { Bench } from '../servers/bench.ts'
import { root } from '../servers/keyhold.ts'

/** The machine, the versions and the settings of a run, as a line of JSON. */
export function headOf({ settings, environment }: Bench): string {
  const { rounds, seconds, deals, clients, callers, requests, jwtAlg } = settings
  const processors = cpus()
  const head = {
    date: new Date().toISOString().slice(0, 16),
    commit: commit(),
    processors: `${processors.length} × ${processors[0]?.model.trim()}`,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${platform()}, ${arch()}`,
    node: process.versions.node,
    postgres: environment.services.versions.postgres,
    redis: environment.services.versions.redis,
    loadBefore: loadavg()[0],
    settings: { rounds, seconds, deals, clients, callers, requests, jwtAlg },
  }
  return `${JSON.stringify(head)}\n`
}

function commit(): string {
  const git = (...words: string[]) => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim()
  try {
    const changes = git('status', '--porcelain', '--untracked-files=no') === '' ? '' : ', with changes'
    return `${git('rev-parse', '--short=12', 'HEAD')}${changes}`
  } catch {
    return 'unknown'
  }
}
