import type { ServerName } from '../../protocol/problems/catalogue.ts'

/** The first page of the console of each server. */
export const firstPages: Readonly<Record<ServerName, string>> = { auth: '/account', deal: '/console' }

/** The page on which users sign in. It is on the auth server. */
export const signInPath = '/account/sign-in'

/** The page that asks users what an application may do. It is on the auth server. */
export const consentPath = '/account/authorize'
