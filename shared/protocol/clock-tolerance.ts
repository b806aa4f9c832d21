/**
 * The clock tolerance in seconds: how far the clocks of two servers may be apart. One minute is generous for clocks that
 * are kept by NTP, and short beside the life of a token. An issue time may lie this far ahead, and a server remembers
 * for this much longer what it must not accept twice. An expiry has no tolerance (docs/contract.md#access-token).
 */
export const clockToleranceSeconds = 60
