/** Tells a process from a later one that was given the same id. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * When the process of this id began, as a token to compare: on Linux the boot and the clock tick of that boot, elsewhere what
 * `ps` says. Undefined when there is no such process, or it has ended and only awaits its parent; empty when the system does not say.
 */
export const processStart = (pid: number): string | undefined => {
  if (!exists(pid)) return undefined
  try {
    return process.platform === 'linux' ? startOnLinux(pid) : startFromPs(pid)
  } catch {
    return exists(pid) ? '' : undefined
  }
}

/** Whether the process that began at `start` is still there. In doubt, it is. */
export const isRunning = (pid: number, start: string): boolean => {
  const current = processStart(pid)
  return current !== undefined && (current === start || current === '' || start === '')
}

const exists = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** proc(5): the second field is the command in parentheses and may hold anything, the third the state, the 22nd the start. */
const startOnLinux = (pid: number): string | undefined => {
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
