import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import type { SealedSecrets, WebhookStore } from '../../../deal-server/webhooks/ports.ts'
import { createWebhookSecrets, resealAll, signingSecrets } from '../../../deal-server/webhooks/secrets.ts'

const [before, after] = ['the former service secret of 32 characters', 'the next service secret of 32 characters']
const id = randomUUID()

it('opens a secret for its webhook, under each accepted service secret, and under no other', () => {
  const sealed = createWebhookSecrets([before]).seal(id, 'whsec_secret')
  expect(sealed).not.toContain('whsec')
  expect(createWebhookSecrets([after, before]).open(id, sealed)).toBe('whsec_secret')
  expect(createWebhookSecrets([after]).open(id, sealed)).toBeUndefined()
  expect(createWebhookSecrets([before]).open(randomUUID(), sealed)).toBeUndefined()
})

it('seals everything again under the first service secret, so that the other one can go', async () => {
  const secrets = createWebhookSecrets([before])
  const sealed = (text: string) => secrets.seal(id, text)
  let row: SealedSecrets = { secret: sealed('a'), formerSecret: sealed('b'), formerSecretUntil: '2026-01-02T00:00:00Z' }
  const store: Pick<WebhookStore, 'sealedSecrets' | 'reseal'> = {
    sealedSecrets: async () => [{ id, ...row }],
    reseal: async (_, was, next) => {
      expect(was).toEqual(row)
      row = next
    },
  }
  const both = createWebhookSecrets([after, before])
  expect(await resealAll(store as WebhookStore, both)).toBe(1)
  expect(await resealAll(store as WebhookStore, both)).toBe(0)
  const next = createWebhookSecrets([after])
  expect([row.secret, row.formerSecret ?? ''].map((text) => next.open(id, text))).toEqual(['a', 'b'])
  const now = Date.parse('2026-01-01T00:00:00Z')
  expect(signingSecrets({ id, ...row }, next, now)).toEqual(['a', 'b'])
  expect(signingSecrets({ id, ...row }, next, now + 86_400_000)).toEqual(['a'])
  expect(signingSecrets({ id, ...row }, secrets, now)).toBeUndefined()
})
