import { type Catalogue, effectiveRights } from './catalogue.ts'
import type { PrincipalRecord, StoredPrincipal } from './record.ts'

/** The record with the rights that this catalogue gives, and the clients that it announces. */
export function withRights(
  { schema: _, directRights, ...stored }: StoredPrincipal,
  catalogue: Catalogue,
): PrincipalRecord {
  const { roles, version } = stored
  return {
    ...stored,
    rights: effectiveRights(catalogue, { roles, directRights, version }),
    endedClients: unlessEmpty(catalogue.endedClients?.map(({ id }) => id)),
    proposingClients: unlessEmpty(catalogue.proposingClients),
  }
}

const unlessEmpty = (ids: readonly string[] | undefined) => (ids?.length === 0 ? undefined : ids)

/** The same, which remembers the latest result for each record: both stay the same for most requests. */
export function rememberRights(): typeof withRights {
  const known = new WeakMap<StoredPrincipal, { readonly catalogue: Catalogue; readonly record: PrincipalRecord }>()
  return function rightsOf(stored, catalogue) {
    const latest = known.get(stored)
    if (latest?.catalogue === catalogue) return latest.record
    const record = withRights(stored, catalogue)
    known.set(stored, { catalogue, record })
    return record
  }
}
