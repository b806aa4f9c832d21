/**
 * The cross-site rule (docs/contract/callers.md#cross-site-rule): credentials that browsers send on their own are
 * accepted only from pages of trusted origins.
 */

import type { HttpRequest } from '../../platform/http/request.ts'
import { isLoopbackHost } from '../../platform/loopback.ts'
import { ProblemError } from '../../platform/problems/errors.ts'
import { isSafeRequest } from './scheme.ts'

/** The settings of the rule. */
export interface CrossSiteSettings {
  /** HOST. */
  readonly host: string
  readonly publicOrigins: { readonly auth: string; readonly deal: string }
  /** AUTH_PORT and DEAL_PORT. */
  readonly ports: readonly number[]
  readonly corsOrigins: readonly string[]
}

/** Checks a request. @throws ProblemError `cross-site` for an unsafe request from a page of another site */
export type RefuseCrossSite = (request: HttpRequest) => void

/** Origins whose pages may use credentials that a browser sends on its own: those of both servers, and CORS_ORIGINS. */
export const trustedOrigins = (settings: CrossSiteSettings): ReadonlySet<string> =>
  new Set([...Object.values(settings.publicOrigins), ...settings.corsOrigins, ...ownOrigins(settings)])

/** The rule that allows pages of these origins. */
export function createCrossSiteRule(allowed: ReadonlySet<string>): RefuseCrossSite {
  return (request) => {
    if (isSafeRequest(request)) return
    const origin = request.header('origin')
    const site = request.header('sec-fetch-site')
    // A page that tells no referrer sends `null` to its own origin, too (Fetch §3.2). Its browser says where that is.
    const isUnnamed = origin === undefined || (origin === 'null' && site !== undefined)
    const isOwn = isUnnamed
      ? site === undefined || site === 'same-origin' || site === 'none'
      : allowed.has(origin) || origin === request.foreignOrigin
    if (!isOwn)
      throw new ProblemError('cross-site', 'A page of another site made this request; CORS_ORIGINS can allow it.')
  }
}

/**
 * All names of this machine, when clients come from this machine only. Behind a proxy with public origins, a page on
 * loopback belongs to any program on the client's machine, so loopback is not trusted there.
 */
function ownOrigins({ host, publicOrigins, ports }: CrossSiteSettings): string[] {
  const seen = Object.values(publicOrigins).map((origin) => new URL(origin).hostname)
  if (![host, ...seen].every(isLoopbackHost)) return []
  const names = ['localhost', '127.0.0.1', '[::1]']
  return ports.flatMap((port) => names.flatMap((name) => [`http://${name}:${port}`, `https://${name}:${port}`]))
}
