import { WrongUsage } from '../../../shared/platform/terminal/report.ts'

const unitSeconds = { h: 3_600, d: 86_400 }

/** The seconds in the option `--overlap` of a rotation, such as `12h` or `7d`. @throws WrongUsage */
export function overlapSecondsOf(text: string): number {
  const [, count, unit] = /^(\d{1,4})([hd])$/.exec(text) ?? []
  if (count !== undefined) return Number(count) * unitSeconds[unit === 'h' ? 'h' : 'd']
  throw new WrongUsage('--overlap: expected a time such as 12h or 7d, or 0h.')
}
