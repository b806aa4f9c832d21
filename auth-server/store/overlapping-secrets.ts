/** Secrets that stay accepted for a while after a rotation: those of services, of clients and of API keys. */
import { hash, timingSafeEqual } from 'node:crypto'

/** A secret that is accepted now. */
export interface AcceptedSecret {
  readonly secret: string
  /** The end of a former one, in milliseconds; null for the present one. */
  readonly until: number | null
}

/** The present secret first. */
export type AcceptedSecrets = readonly [AcceptedSecret, ...AcceptedSecret[]]

/** Secrets as a row has them, encrypted. */
export interface SealedSecrets {
  readonly sealed: string
  /** Null when no former one is accepted now. */
  readonly former: { readonly sealed: string; readonly until: number } | null
}

/** Decrypts them. */
export function openSecrets({ sealed, former }: SealedSecrets, open: (sealed: string) => string): AcceptedSecrets {
  const present = { secret: open(sealed), until: null }
  return former ? [present, { secret: open(former.sealed), until: former.until }] : [present]
}

/** The columns of the former secret after a rotation; an overlap of 0 refuses it at once. */
export const formerAfter = (sealed: string, { overlapSeconds, now }: { overlapSeconds: number; now: number }) =>
  overlapSeconds === 0
    ? { formerSecretSealed: null, formerUntil: null }
    : { formerSecretSealed: sealed, formerUntil: new Date(now + overlapSeconds * 1000) }

const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer')
const dummySecret: AcceptedSecret = { secret: 'nobody has this secret', until: null }

/** The one of them that was sent. Nobody's secrets and a wrong secret take the same time. */
export function matchingSecret(secrets: readonly AcceptedSecret[] = [], secret: string): AcceptedSecret | undefined {
  const sent = sha256(secret)
  const known = secrets.length > 0 ? secrets : [dummySecret]
  const [found] = known.filter((one) => timingSafeEqual(sha256(one.secret), sent))
  return found === dummySecret ? undefined : found
}
