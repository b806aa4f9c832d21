import { hash } from 'node:crypto'

/** The bucket of a deal, 0 to 1,023: the function `deals.bucket_of`. */
export const bucketOf = (dealId: string): number => bucketOfBytes(Buffer.from(dealId.replaceAll('-', ''), 'hex'))

/** The bucket of all commands of a principal. */
export const bucketOfPrincipal = (principalId: string): number => bucketOfBytes(principalId)

const bucketOfBytes = (bytes: Buffer | string): number =>
  Number.parseInt(hash('sha256', bytes, 'hex').slice(0, 4), 16) & 1023
