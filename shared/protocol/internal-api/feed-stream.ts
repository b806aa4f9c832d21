/**
 * The change feed as a stream of lines from one auth server (docs/revocation.md#the-stream). Deal servers follow it
 * while Redis tells them nothing. Each line carries a MAC over itself, its place and the nonce of the request, under a
 * key derived from SERVICE_SECRET: the MAC of the response covers its head alone. Both servers use this file.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import * as z from 'zod'
import { createMemo } from '../../platform/cache/memo.ts'
import { deriveKey } from '../../platform/crypto/derive-key.ts'
import { changesSchema } from '../principal/change-feed.ts'
import { instanceIdSchema } from '../principal/instance-id.ts'
import { defineExchange } from './exchange.ts'
import type { AnsweredInternalRequest } from './responses.ts'

/** Opens the stream of changes. */
export const feedStreamExchange = defineExchange({
  method: 'GET',
  path: '/feed/changes',
  openTo: 'all',
})

/** From where a stream begins. */
export const feedStreamQuery = z.object({
  /** The instance whose versions `after` counts. */
  instance: instanceIdSchema,
  /** Up to this version the deal server knows all changes; it is left out when it knows none. */
  after: z.coerce.number().int().nonnegative().optional(),
})

/** Changes, and what they are together with those of the lines before, since the last line with an end. */
export const feedLineSchema = z.object({
  instanceId: instanceIdSchema,
  changes: changesSchema,
  end: z
    .object({
      after: z.number().int(),
      upTo: z.number().int(),
      /** The database was read no earlier than so long after the request was received, in milliseconds. */
      readMs: z.number().nonnegative(),
      /** The digests of the published keys (`published-keys.ts`). */
      keys: z.string(),
    })
    .optional(),
  /**
   * Only while the database cannot be read: the lines have told everything that was announced in Redis until so long
   * after the request was received, in milliseconds. Negative: until so long before.
   */
  announcedMs: z.number().optional(),
})

/** One line. */
export type FeedLine = z.infer<typeof feedLineSchema>

/** The largest length of a line, in characters. */
export const maxFeedLineLength = 1_000_000

/** Derived keys, one for each service secret. */
const keys = createMemo<Buffer>({ maxEntries: 16, maxBytes: 64_000 })

const derive = (secret: string): Buffer => deriveKey(secret, 'internal feed lines')

/** The text of a line without its end, `index` lines after the first one. */
export const sealFeedLine = (line: FeedLine, of: AnsweredInternalRequest & { readonly index: number }): string => {
  const text = JSON.stringify(line)
  return `${macOf(text, of).toString('base64url')} ${text}`
}

/** The line in a text; undefined when the auth server did not write it for this place of this stream. */
export function openFeedLine(
  sealed: string,
  of: AnsweredInternalRequest & { readonly index: number },
): FeedLine | undefined {
  const space = sealed.indexOf(' ')
  const text = sealed.slice(space + 1)
  const [sent, expected] = [Buffer.from(sealed.slice(0, Math.max(0, space)), 'base64url'), macOf(text, of)]
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) return undefined
  return feedLineSchema.safeParse(JSON.parse(text)).data
}

function macOf(text: string, { secret, nonce, index }: AnsweredInternalRequest & { readonly index: number }): Buffer {
  return createHmac('sha256', keys.get(secret, derive))
    .update([nonce, String(index), text].join('\n'))
    .digest()
}
