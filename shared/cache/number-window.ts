/** How far behind the highest number one may still come, and how far ahead. */
export const windowWidth = 64

/** Which of the last numbers were used. */
export interface NumberWindow {
  readonly highest: number
  /** Bit i: `highest - i` was used. */
  readonly used: bigint
}

/** The window after its first number. */
export const firstOfWindow = (number: number): NumberWindow => ({ highest: number, used: 1n })

/** The window once `number` is used; undefined when it was used before, or is too far from the highest one. */
export function useInWindow({ highest, used }: NumberWindow, number: number): NumberWindow | undefined {
  const ahead = number - highest
  if (ahead > windowWidth || ahead <= -windowWidth) return undefined
  if (ahead > 0) return { highest: number, used: BigInt.asUintN(windowWidth, (used << BigInt(ahead)) | 1n) }
  const bit = 1n << BigInt(-ahead)
  return (used & bit) === 0n ? { highest, used: used | bit } : undefined
}
