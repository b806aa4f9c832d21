/** Distinguishes a process from a later one with the same id. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * The start of the process with this id, as a token to compare: on Linux the boot and the clock tick of that boot,
 * elsewhere the start time from `ps`. Undefined when there is no such process, or it has ended and waits for its
 * parent. Empty when the system does not provide it.
 */
export function processStart(pid: number): string | undefined {
  if (!exists(pid)) return undefined
  try {
    return process.platform === 'linux' ? startOnLinux(pid) : startFromPs(pid)
  } catch {
    return exists(pid) ? '' : undefined
  }
}

/** True while the process that began at `start` runs. Also true in doubt. */
export function isRunning(pid: number, start: string): boolean {
  const current = processStart(pid)
  return current !== undefined && (current === start || current === '' || start === '')
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Fields of proc(5): the 2nd is the command in parentheses, with arbitrary characters; the 3rd is the state, the 22nd
 * the start.
 */
function startOnLinux(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const [state = '', ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return undefined
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  return `${boot} ${fields[18]}`
}

const startFromPs = (pid: number): string =>
  execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { LC_ALL: 'C', TZ: 'UTC', PATH: '/bin:/usr/bin' },
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()
