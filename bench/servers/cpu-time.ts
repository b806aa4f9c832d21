/**
 * CPU times of processes on this machine, from /proc (proc(5)). They are exact: the kernel's scheduler counts them in
 * nanoseconds.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** The kernel counts the time of ended processes in ticks of this length, in microseconds. */
const tick = 10_000

/** CPU time that a process has used so far, all its threads together, in microseconds. */
export const cpuOfProcess = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + cpuOfThread(pid, thread), 0)

/**
 * CPU time of a process and its children in microseconds, including children that have ended. PostgreSQL starts a
 * process for each connection.
 */
export function cpuOfFamily(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  const living = children.reduce((sum, child) => sum + (child === '' ? 0 : cpuIfLiving(Number(child))), 0)
  return cpuOfProcess(pid) + living + cpuOfEndedChildren(pid)
}

/** Resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const [, kibibytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) * 1024
}

/** The parent of a process. */
export const parentOf = (pid: number): number => Number(statOf(pid)[1])

/** The first figure of schedstat: nanoseconds on a processor. */
function cpuOfThread(pid: number, thread: string): number {
  const [nanoseconds = '0'] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')
  return Number(nanoseconds) / 1000
}

function cpuIfLiving(pid: number): number {
  try {
    return cpuOfProcess(pid)
  } catch {
    return 0
  }
}

/** CPU time of the ended and awaited children of a process: cutime and cstime. */
export function cpuOfEndedChildren(pid: number): number {
  const fields = statOf(pid)
  return (Number(fields[13]) + Number(fields[14])) * tick
}

/** The fields of /proc/PID/stat from the state (the third) on; the name before them may contain blanks. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}
