/**
 * The secrets of webhooks at rest. They are sealed under a key from SERVICE_SECRET, the only secret that deal servers
 * share. While it is rotated, secrets under both values open, and every start seals them again under the first one.
 */
import { deriveKey } from '../../shared/platform/crypto/derive-key.ts'
import { seal, unseal } from '../../shared/platform/crypto/seal.ts'
import type { SealedSecrets, WebhookStore } from './ports.ts'

/** Seals and opens secrets. */
export type WebhookSecrets = ReturnType<typeof createWebhookSecrets>

/** The purpose of the derived key. */
const purpose = 'webhook secrets 1'

/** Seals under the first of these values of SERVICE_SECRET, and opens under all of them. */
export function createWebhookSecrets(serviceSecrets: readonly string[]) {
  const keys = serviceSecrets.map((secret) => deriveKey(secret, purpose))
  const [current] = keys
  if (!current) throw new TypeError('secrets of webhooks need a key')
  const usage = (id: string) => `webhook ${id}`
  const sealOne = (id: string, secret: string) =>
    seal(secret, { key: current, associatedData: usage(id) }).toString('base64url')
  const openUnder = (id: string, sealed: string, key: Buffer) =>
    unseal(Buffer.from(sealed, 'base64url'), { key, associatedData: usage(id) })
  /** Undefined when it was sealed under none of the keys. */
  const open = (id: string, sealed: string): string | undefined => {
    for (const key of keys) {
      const secret = openUnder(id, sealed, key)
      if (secret !== undefined) return secret
    }
    return undefined
  }
  return {
    seal: sealOne,
    open,
    /** The same secret under the first key; undefined when it is already, or cannot be opened. */
    sealAnew: (id: string, sealed: string): string | undefined => {
      if (openUnder(id, sealed, current) !== undefined) return undefined
      const secret = open(id, sealed)
      return secret === undefined ? undefined : sealOne(id, secret)
    },
  }
}

/** Seals all stored secrets under the first key. Answers how many it changed. @throws Unavailable */
export async function resealAll(store: WebhookStore, secrets: WebhookSecrets): Promise<number> {
  let count = 0
  for (const { id, ...before } of await store.sealedSecrets()) {
    const sealed: SealedSecrets = {
      ...before,
      secret: secrets.sealAnew(id, before.secret) ?? before.secret,
      formerSecret: before.formerSecret && (secrets.sealAnew(id, before.formerSecret) ?? before.formerSecret),
    }
    if (sealed.secret === before.secret && sealed.formerSecret === before.formerSecret) continue
    await store.reseal(id, before, sealed)
    count += 1
  }
  return count
}

/** The secrets that sign now: the current one, and the former one until its time. Undefined when one does not open. */
export function signingSecrets(
  { id, secret, formerSecret, formerSecretUntil }: { readonly id: string } & SealedSecrets,
  secrets: WebhookSecrets,
  now: number,
): readonly string[] | undefined {
  const isFormerValid = formerSecret !== null && formerSecretUntil !== null && Date.parse(formerSecretUntil) > now
  const opened = [secret, ...(isFormerValid ? [formerSecret] : [])].map((sealed) => secrets.open(id, sealed))
  const [current] = opened
  return current === undefined ? undefined : opened.filter((one) => one !== undefined)
}
