import { hash } from 'node:crypto'

/** The bucket of a deal, 0 to 1,023: the function `deals.bucket_of` of the migration `0009_event_numbers`. */
export function bucketOf(dealId: string): number {
  const digits = hash('sha256', Buffer.from(dealId.replaceAll('-', ''), 'hex'), 'hex').slice(0, 4)
  return Number.parseInt(digits, 16) & 1023
}
