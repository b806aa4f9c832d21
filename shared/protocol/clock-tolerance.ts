/**
 * The clock tolerance in seconds: how far the clocks of two servers may be apart. One minute is generous for clocks
 * that are kept by NTP, and short beside the lifetime of a token. An issue time may be this far ahead, and a server
 * remembers used credentials for this much longer. An expiry has no tolerance (docs/contract/callers.md#access-token).
 */
export const clockToleranceSeconds = 60
