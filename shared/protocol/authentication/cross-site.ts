/** The cross-site rule (CONTRACT section 4): credentials that browsers send on their own count only for pages of our own origins. */

import type { HttpCall } from '../../platform/http/call.ts'
import { isLoopbackHost } from '../../platform/loopback.ts'
import { Refused } from '../../platform/problems/errors.ts'
import { isSafeMethod } from './scheme.ts'

/** Of the settings, what the rule reads. */
export interface CrossSiteSettings {
  /** HOST. */
  readonly host: string
  readonly publicOrigins: { readonly auth: string; readonly deal: string }
  /** AUTH_PORT and DEAL_PORT. */
  readonly ports: readonly number[]
  readonly corsOrigins: readonly string[]
}

/** @throws Refused `cross-site` for an unsafe request that a page of another site made */
export type RefuseCrossSite = (call: HttpCall) => void

/** Origins whose pages may use what a browser sends on its own: those of both servers, and CORS_ORIGINS. */
export const trustedOrigins = (settings: CrossSiteSettings): ReadonlySet<string> =>
  new Set([...Object.values(settings.publicOrigins), ...settings.corsOrigins, ...ownOrigins(settings)])

/** The rule for these settings. */
export function createCrossSiteRule(settings: CrossSiteSettings): RefuseCrossSite {
  const allowed = trustedOrigins(settings)
  return (call) => {
    if (isSafeMethod(call.method)) return
    const origin = call.header('origin')
    const site = call.header('sec-fetch-site')
    const isOwn =
      origin === undefined ? site === undefined || site === 'same-origin' || site === 'none' : allowed.has(origin)
    if (!isOwn) throw new Refused('cross-site', 'A page of another site made this request; CORS_ORIGINS can allow it.')
  }
}

/**
 * By whichever name this machine is called, as long as clients come from this machine alone. Behind a proxy with public origins, a page
 * on loopback is one of the client's own machine: of any program that runs there.
 */
function ownOrigins({ host, publicOrigins, ports }: CrossSiteSettings): string[] {
  const seen = Object.values(publicOrigins).map((origin) => new URL(origin).hostname)
  if (![host, ...seen].every(isLoopbackHost)) return []
  const names = ['localhost', '127.0.0.1', '[::1]']
  return ports.flatMap((port) => names.flatMap((name) => [`http://${name}:${port}`, `https://${name}:${port}`]))
}
