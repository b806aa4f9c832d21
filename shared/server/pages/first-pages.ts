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
