import type { ServerName } from '../../protocol/problems/catalogue.ts'

/** The first page of the console of each server. */
export const firstPages: Readonly<Record<ServerName, string>> = { auth: '/account', deal: '/console' }
