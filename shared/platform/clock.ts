/** The only source of time. It is passed in everywhere, so that tests can move it. */
export interface Clock {
  /** Milliseconds since the Unix epoch: for times that are stored, signed or shown. */
  now(): number
  /** Milliseconds that never jump or go back: for ages and durations within this process. */
  monotonic(): number
}

/** The clocks of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
}

/** Whole seconds since the Unix epoch, as JWT claims and OAuth members carry them (RFC 7519 NumericDate). */
export const unixSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000)

/** RFC 3339 in UTC with milliseconds, as every time in a JSON body is written. */
export const rfc3339 = (milliseconds: number): string => new Date(milliseconds).toISOString()
