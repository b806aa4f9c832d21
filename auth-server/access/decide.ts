import type { RecordInCatalogue } from '../principals/principal-reader.ts'

/** True when the user is enabled and has this right of this resource server. A right of another server counts as none. */
export const isAllowed = (
  found: RecordInCatalogue | undefined,
  { right, resourceServer }: { readonly right: string; readonly resourceServer: string },
): boolean =>
  found !== undefined &&
  found.record.enabled &&
  found.record.rights.includes(right) &&
  found.catalogue.rights.some((one) => one.name === right && one.resourceServer === resourceServer)
