/** The filters of the audit log: from the form of the page to the query of the API. */
import type { AuthReply } from '../frame/auth-api.ts'

/** A page of entries. */
export type AuditEntries = AuthReply<'GET /audit'>

/** One of them. */
export type AuditEntry = AuditEntries['items'][number]

const auditFilterNames = ['actor', 'action', 'target', 'outcome', 'from', 'to', 'order'] as const

/** The path of the page. */
export const auditPath = '/account/audit'

/** The right that it needs. */
export const auditRight = 'audit.read'

/** The filters that are set, for links to other pages of the same entries. */
export const filtersOf = (query: URLSearchParams): URLSearchParams =>
  new URLSearchParams(
    auditFilterNames.flatMap((name): [string, string][] => {
      const value = query.get(name)
      return value ? [[name, value]] : []
    }),
  )

/** A time of a field is without a zone and perhaps without seconds: it is UTC. Other text goes to the API as it is. */
const timeOf = (text: string | null): string | undefined => {
  const [, minutes, seconds = ':00'] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d{1,3})?)?$/.exec(text ?? '') ?? []
  return minutes === undefined ? (text ?? undefined) : `${minutes}${seconds}Z`
}

/** The query of the API. The newest entries come first unless the reader wants it otherwise. */
export const auditQuery = (query: URLSearchParams) => ({
  actor: query.get('actor')?.trim(),
  action: query.get('action') ?? undefined,
  target: query.get('target')?.trim(),
  outcome: query.get('outcome')?.trim(),
  from: timeOf(query.get('from')),
  to: timeOf(query.get('to')),
  order: query.get('order') || 'desc',
})
