/** The head of a file of results: what was measured where. */
import { execFileSync } from 'node:child_process'
import { arch, cpus, loadavg, platform, totalmem } from 'node:os'
import type { Bench } from '../servers/bench.ts'
import { root } from '../servers/keyhold.ts'

/** The machine, the versions and the settings of a run, as Markdown. */
export function headOf(title: string, { settings, environment }: Bench): string {
  const { rounds, seconds, deals, clients, requests } = settings
  const { postgres, redis } = environment.services.versions
  const processors = cpus()
  const rows: readonly [string, string][] = [
    ['date', new Date().toISOString().slice(0, 16).replace('T', ' ')],
    ['commit', commit()],
    ['processors', `${processors.length} × ${processors[0]?.model.trim()}`],
    ['memory', `${(totalmem() / 2 ** 30).toFixed(0)} GiB`],
    ['system', `${platform()}, ${arch()}`],
    ['versions', `Node.js ${process.versions.node}, PostgreSQL ${postgres}, Redis ${redis}`],
    ['load of the machine before the run', loadavg()[0]?.toFixed(1) ?? ''],
    ['run', `${rounds} rounds of ${seconds} s, ${clients} connections, ${deals.toLocaleString('en')} deals`],
    ['requests for memory', requests.toLocaleString('en')],
  ]
  const lines = rows.map(([name, value]) => `| ${name} | ${value} |`)
  return [`# ${title}`, '', '| | |', '|---|---|', ...lines, ''].join('\n')
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
