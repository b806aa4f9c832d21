import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { OnRound } from '../runner/compare.ts'
import { median, rounded } from '../runner/figures.ts'
import type { Bench } from '../servers/bench.ts'
import { root } from '../servers/keyhold.ts'
import { startServer } from '../servers/processes.ts'

const execute = promisify(execFile)

/** Starts are slow and differ little: so many rounds are enough. */
const maxRounds = 7

/** Measures how long starts take until the server is ready, and how long a command of the operators' tool takes. */
export async function measureStarts(bench: Bench, onRound: OnRound): Promise<string> {
  const { keyhold, settings, environment } = bench
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-bench-start-'))
  const ports = { AUTH_PORT: String(await environment.newPort()), DEAL_PORT: String(await environment.newPort()) }
  const embedded = { ...ports, DATA_DIR: folder, KEYS_DIR: join(folder, 'keys') }
  const readyAfter = async (start: ReturnType<typeof startServer>) => {
    const server = await start
    await server.stop()
    return server.readyAfterMs
  }
  const works: Readonly<Record<string, () => Promise<number>>> = {
    'node, with nothing to do': () => elapsedMs(() => execute(process.execPath, ['-e', '0'])),
    'npm start, warm': () =>
      readyAfter(startServer({ command: ['npm', 'start'], port: Number(ports.DEAL_PORT), variables: embedded })),
    'auth server, compiled': () => readyAfter(keyhold.startAuthServer()),
    'deal server, compiled': () => readyAfter(keyhold.startDealServer()),
    'npm run ops -- keys status': () =>
      elapsedMs(() =>
        execute('npm', ['run', 'ops', '--', 'keys', 'status'], { cwd: root, env: environmentOf(keyhold) }),
      ),
  }
  const times = new Map<string, number[]>()
  const rounds = Math.min(settings.rounds, maxRounds)
  try {
    // Round 0 fills the embedded database and the caches of the file system.
    for (let round = 0; round <= rounds; round += 1) {
      onRound(round, rounds + 1)
      for (const [name, work] of Object.entries(works)) {
        const time = await work()
        if (round > 0) times.set(name, [...(times.get(name) ?? []), time])
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const row = ([name, found]: [string, number[]]) =>
    `| ${name} | ${[median(found), Math.min(...found), Math.max(...found)].map(rounded).join(' | ')} |`
  const head = ['| | median | lowest | highest |', '|---|---:|---:|---:|']
  return [`## Starts, in ms`, '', `${rounds} rounds:`, '', ...head, ...[...times].map(row), ''].join('\n')
}

const environmentOf = ({ variables }: Bench['keyhold']) => ({ ...process.env, ...variables })

async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}
