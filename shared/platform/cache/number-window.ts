/** The highest number and the 63 before it are tracked one by one. A number further behind is refused. */
export const windowWidth = 64

/** The used ones among the last numbers. */
export interface NumberWindow {
  readonly highest: number
  /** Bit i: `highest - i` was used. */
  readonly used: bigint
}

/** The window after its first number. */
export const firstOfWindow = (number: number): NumberWindow => ({ highest: number, used: 1n })

/**
 * The window after the use of `number`; undefined when it was used before, or is too far behind the highest one. It may
 * be any distance ahead: no number above the highest one was used.
 */
export function useInWindow({ highest, used }: NumberWindow, number: number): NumberWindow | undefined {
  const ahead = number - highest
  if (ahead <= -windowWidth) return undefined
  if (ahead >= windowWidth) return firstOfWindow(number)
  if (ahead > 0) return { highest: number, used: BigInt.asUintN(windowWidth, (used << BigInt(ahead)) | 1n) }
  const bit = 1n << BigInt(-ahead)
  return (used & bit) === 0n ? { highest, used: used | bit } : undefined
}
