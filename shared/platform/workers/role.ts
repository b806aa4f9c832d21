import type { Channel } from './channel.ts'
import type { Workers } from './primary.ts'

/** The part of a process among those of a server. A process that runs alone is neither. */
export interface MachineRole {
  /** In the primary process: its workers. */
  readonly primary?: Workers | undefined
  /** In a worker: the way to the primary process. */
  readonly worker?: Channel | undefined
}
