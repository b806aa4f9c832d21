const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

/** Formats a number of bytes with three digits, by powers of 1,000: `0 B`, `1.25 GB`, `456 MB`. */
export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0]
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2
  return `${value.toFixed(digits)} ${units[unit]}`
}
