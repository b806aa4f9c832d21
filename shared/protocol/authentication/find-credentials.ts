/** Finds the credentials of a request, without verifying them. */
import type { HttpRequest } from '../../platform/http/request.ts'
import { readAuthorization, type Scheme } from './scheme.ts'

/** A credential and its scheme. */
export interface Found {
  readonly scheme: Scheme
  readonly credential: string
}

/** The credentials of a request. */
export interface RequestCredentials {
  readonly found: readonly Found[]
  /** True for an `Authorization` field of a scheme that is not served. */
  readonly isForeign: boolean
}

/**
 * A function that finds the credentials of these schemes. @throws ProblemError for a credential that is not well-formed
 */
export function createFinder(schemes: readonly Scheme[]): (request: HttpRequest) => RequestCredentials {
  const byAuthorization = new Map<string, Scheme>()
  const elsewhere: { readonly scheme: Scheme; readonly find: (request: HttpRequest) => string | undefined }[] = []
  for (const scheme of schemes) {
    const { place } = scheme
    if ('authorization' in place) byAuthorization.set(place.authorization, scheme)
    else elsewhere.push({ scheme, find: place.find })
  }
  return (request) => {
    const found: Found[] = []
    const field = request.header('authorization')
    const read = field === undefined ? undefined : readAuthorization(field)
    const ofField = read && byAuthorization.get(read.scheme)
    if (read && ofField) found.push({ scheme: ofField, credential: read.credential })
    for (const { scheme, find } of elsewhere) {
      const credential = find(request)
      if (credential !== undefined) found.push({ scheme, credential })
    }
    return { found, isForeign: field !== undefined && !ofField }
  }
}

/**
 * True for more than one credential, for one beside an unknown scheme, and for two `Authorization` fields: the server
 * does not guess which one is meant.
 */
export const areSeveral = (request: HttpRequest, { found, isForeign }: RequestCredentials): boolean =>
  found.length + Number(isForeign) > 1 ||
  (request.header('authorization') !== undefined && request.headerLines('authorization').length > 1)
