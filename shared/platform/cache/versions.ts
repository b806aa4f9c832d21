/** Checks a version. @throws RangeError unless it is a whole number that both JavaScript and Lua compare exactly */
export function assertVersion(version: number): void {
  if (!Number.isSafeInteger(version) || version < 0) throw new RangeError('a version must be a whole number below 2^53')
}

/** A time to live in whole milliseconds, at least one. */
export const lifetimeMs = (ttlSeconds: number): number => Math.max(1, Math.ceil(ttlSeconds * 1000))
