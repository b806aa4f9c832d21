/** The hash slots of a Redis Cluster. */

/** How many slots there are. */
export const slotCount = 16_384

/**
 * The slot of a key: CRC16 (XMODEM) of its tag in braces, or of all of it, modulo 16384 (Redis Cluster specification).
 */
export function slotOf(key: string): number {
  const [tagged, tag] = /^[^{]*\{([^}]+)\}/.exec(key) ?? []
  const bytes = Buffer.from(tagged === undefined || tag === undefined ? key : tag)
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff) >>> 0
  }
  return crc % slotCount
}
