/** Which credentials a request carries, unverified. */
import type { HttpCall } from '../../platform/http/call.ts'
import { readAuthorization, type Scheme } from './scheme.ts'

/** A credential and the scheme it is of. */
export interface Found {
  readonly scheme: Scheme
  readonly credential: string
}

export interface PresentedCredentials {
  readonly found: readonly Found[]
  /** An `Authorization` field that no scheme here reads. */
  readonly isForeign: boolean
}

/** Looks for credentials of these schemes. @throws Refused for one of no possible form */
export function createFinder(schemes: readonly Scheme[]): (call: HttpCall) => PresentedCredentials {
  const byAuthorization = new Map<string, Scheme>()
  const elsewhere: { readonly scheme: Scheme; readonly find: (call: HttpCall) => string | undefined }[] = []
  for (const scheme of schemes) {
    const { place } = scheme
    if ('authorization' in place) byAuthorization.set(place.authorization, scheme)
    else elsewhere.push({ scheme, find: place.find })
  }
  return (call) => {
    const found: Found[] = []
    const field = call.header('authorization')
    const read = field === undefined ? undefined : readAuthorization(field)
    const ofField = read && byAuthorization.get(read.scheme)
    if (read && ofField) found.push({ scheme: ofField, credential: read.credential })
    for (const { scheme, find } of elsewhere) {
      const credential = find(call)
      if (credential !== undefined) found.push({ scheme, credential })
    }
    return { found, isForeign: field !== undefined && !ofField }
  }
}

/** More than one credential, or a foreign one beside a good one, or two `Authorization` fields: nobody can tell which one is meant. */
export const areSeveral = (call: HttpCall, { found, isForeign }: PresentedCredentials): boolean =>
  found.length + Number(isForeign) > 1 ||
  (call.header('authorization') !== undefined && call.headerLines('authorization').length > 1)
