/** API keys, and the places of their pages. */
import type { AuthReply } from '../frame/auth-api.ts'

/** A key. */
export type ApiKey = AuthReply<'GET /api-keys/:id'>

/** The two places of the pages of keys. */
export interface KeyPlace {
  /** The path of the list. */
  readonly base: string
  /** True for the pages of administrators, which reach the keys of everybody. */
  readonly isOfAll: boolean
}

/** The reader's own keys. */
export const ownKeys: KeyPlace = { base: '/account/api-keys', isOfAll: false }

/** The keys of everybody. */
export const allKeys: KeyPlace = { base: '/account/all-api-keys', isOfAll: true }

/** The right that the pages of administrators need. */
export const allKeysRight = 'api-key.manage'

/** The name that a page shows. */
export const keyNameOf = ({ name }: ApiKey): string => name ?? 'Without a name'

/** The end of this day in UTC, in the form of the API; undefined for an empty field. */
export const endOfDay = (date: string | undefined): string | undefined =>
  date === undefined || date === '' ? undefined : `${date}T23:59:59Z`
