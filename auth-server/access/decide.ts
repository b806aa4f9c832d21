import type { RecordInCatalogue } from '../principals/principal-reader.ts'

/** True when the user is enabled and has this right of this resource server; one of another server counts as none. */
export const isAllowed = (
  found: RecordInCatalogue | undefined,
  { right, resourceServer }: { readonly right: string; readonly resourceServer: string },
): boolean =>
  found?.record.enabled === true &&
  found.record.rights.includes(right) &&
  found.catalogue.rights.some((one) => one.name === right && one.resourceServer === resourceServer)
