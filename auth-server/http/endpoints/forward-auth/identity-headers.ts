import type { Caller } from '../../../../shared/protocol/authentication/authenticate.ts'

/** The largest `Keyhold-Rights`, in bytes: proxies have small buffers for the header fields of an answer. */
const maxRightsBytes = 4_096

/**
 * The header fields by which a service learns who calls. `Keyhold-Rights` has the demanded rights first; when not all
 * rights fit in, `Keyhold-Rights-Omitted` says how many are missing.
 */
export function identityHeaders(caller: Caller, demanded: readonly string[]): Readonly<Record<string, string>> {
  const { shown, omitted } = boundedRights(caller.rights, demanded)
  return {
    'keyhold-user': caller.username,
    'keyhold-user-id': caller.userId,
    'keyhold-scheme': caller.scheme,
    'keyhold-rights': shown,
    ...(omitted > 0 && { 'keyhold-rights-omitted': String(omitted) }),
  }
}

function boundedRights(rights: ReadonlySet<string>, demanded: readonly string[]) {
  let shown = ''
  let count = 0
  for (const right of new Set([...demanded, ...rights])) {
    const longer = count === 0 ? right : `${shown} ${right}`
    if (longer.length > maxRightsBytes) break
    shown = longer
    count += 1
  }
  return { shown, omitted: rights.size - count }
}
