/** The values of LOG_LEVEL, from the most to the least output. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

/** LOG_LEVEL and LOG_FORMAT. */
export interface LogSettings {
  readonly level: (typeof logLevels)[number]
  /** Undefined: pretty on a terminal, JSON lines elsewhere. */
  readonly format: 'json' | 'pretty' | undefined
  /** The number of the worker, which all its lines have. */
  readonly worker?: number | undefined
}
