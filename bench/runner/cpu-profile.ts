/** CPU profiles as `node --cpu-prof` writes them when a process ends. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[]
  readonly samples: readonly number[]
  /** Microseconds between the samples. */
  readonly timeDeltas: readonly number[]
}

interface CallFrame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

/** The number of functions that are shown. */
const shown = 10

/**
 * The functions with the most time of their own in the profile of a folder, in a window of milliseconds since the start
 * of the process. Shares are those of the time in which the main thread was not idle.
 */
export function functionsOf(folder: string, { fromMs, toMs }: { fromMs: number; toMs: number }) {
  const [file] = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))
  if (file === undefined) throw new Error('The server wrote no profile.')
  const { nodes, samples, timeDeltas }: CpuProfile = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]))
  const times = new Map<string, number>()
  let at = 0
  for (const [index, node] of samples.entries()) {
    const name = names.get(node) ?? ''
    const delta = timeDeltas[index] ?? 0
    at += delta
    if (at < fromMs * 1000 || at > toMs * 1000 || name === '(idle)') continue
    times.set(name, (times.get(name) ?? 0) + delta)
  }
  const total = [...times.values()].reduce((sum, time) => sum + time, 0)
  const sorted = [...times].sort(([, a], [, b]) => b - a).slice(0, shown)
  return sorted.map(([name, time]) => ({ name, share: time / total }))
}

/** The function, and its file from `dist/` or `node_modules/` on. */
function nameOf({ functionName, url, lineNumber }: CallFrame): string {
  const place = url === '' ? '' : `, ${url.replace(/^file:.*?\/(?:dist|node_modules)\//, '')}:${lineNumber + 1}`
  return `${functionName === '' ? 'a function' : functionName}${place}`
}
