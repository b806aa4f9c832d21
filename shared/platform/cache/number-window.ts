/** So many numbers, the highest one and those before it, are told apart: one that comes further behind is refused. */
export const windowWidth = 64

/** Which of the last numbers were used. */
export interface NumberWindow {
  readonly highest: number
  /** Bit i: `highest - i` was used. */
  readonly used: bigint
}

/** The window after its first number. */
export const firstOfWindow = (number: number): NumberWindow => ({ highest: number, used: 1n })

/**
 * The window once `number` is used; undefined when it was used before, or is too far behind the highest one. It may be as far ahead as it
 * likes: nothing above the highest one was used.
 */
export function useInWindow({ highest, used }: NumberWindow, number: number): NumberWindow | undefined {
  const ahead = number - highest
  if (ahead <= -windowWidth) return undefined
  if (ahead >= windowWidth) return firstOfWindow(number)
  if (ahead > 0) return { highest: number, used: BigInt.asUintN(windowWidth, (used << BigInt(ahead)) | 1n) }
  const bit = 1n << BigInt(-ahead)
  return (used & bit) === 0n ? { highest, used: used | bit } : undefined
}
