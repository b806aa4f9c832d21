/**
 * The names of keys and channels say where a Redis Cluster keeps them, by the part in braces (the hash tag):
 *
 * - `{keyhold:feed}:…`: what belongs together with the channels. One node holds all of it.
 * - `{keyhold:0}:…` to `{keyhold:63}:…`: the lanes, which spread over all nodes.
 * - `{keyhold:attempts}:…`: attempts of logins, which are counted under several keys in one step. One node holds all.
 */

/** How many lanes there are. It never changes: an entry would be in another lane, and not be found. */
export const laneCount = 64

/** The lane of a text, 0 to 63: FNV-1a over its UTF-16 code units, folded. The same on all servers. */
export function laneOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return ((hash ^ (hash >>> 16)) >>> 0) % laneCount
}

/** The key `name` in a lane. */
export const laneKey = (lane: number, name: string): string => `{keyhold:${lane}}:${name}`

/** The key or channel `name` beside the channels. */
export const feedKey = (name: string): string => `{keyhold:feed}:${name}`

/** The key of a counter of attempts. */
export const attemptKey = (name: string): string => `{keyhold:attempts}:${name}`
