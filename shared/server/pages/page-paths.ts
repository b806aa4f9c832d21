import { isLoopbackHost } from '../../platform/loopback.ts'
import type { ServerName } from '../../protocol/problems/catalogue.ts'

/** The first page of the console of each server. */
export const firstPages: Readonly<Record<ServerName, string>> = { auth: '/account', deal: '/console' }

/** The page on which users sign in. It is on the auth server. */
export const signInPath = '/account/sign-in'

/** The page that asks users what an application may do. It is on the auth server. */
export const consentPath = '/account/authorize'

/** The page on which users enter the code of a device. It is on the auth server. */
export const devicePath = '/account/device'

/** The page that asks users whether they sign out, as an application wants. It is on the auth server. */
export const signOutPath = '/account/sign-out'

/** The end of every sign-out from a page: the deal server forgets, and leads to the page for signing in. */
export const signedOutPath = '/console/signed-out'

/**
 * The URLs of the documentation pages that can sign people in: a browser needs HTTPS or loopback for PKCE. A page on
 * loopback belongs to any program on the client's machine, so there is none beside an auth server elsewhere. It has a
 * port, for a redirect URI without one is good with any port.
 */
export const docsPages = ({ auth, deal }: Readonly<Record<ServerName, string>>): string[] =>
  [`${auth}/docs`, `${deal}/docs`, `${deal}/rest/docs`].filter((url) => {
    const { protocol, hostname, port } = new URL(url)
    if (!isLoopbackHost(hostname)) return protocol === 'https:'
    return isLoopbackHost(new URL(auth).hostname) && port !== ''
  })
