/** Finds the route that a client may have meant by a path that no route has. Its cost is bounded for every path. */

/** What is known of a route. Routes without a description are not for clients. */
interface KnownRoute {
  readonly methods: readonly string[]
  readonly path: string
  readonly describe?: unknown
}

/** Longer paths and segments are no misspelt routes. */
const maxSegments = 8
const maxLength = 40
/** More differences than this make another word. */
const maxDistance = 2

interface Template {
  readonly segments: readonly string[]
  readonly methods: readonly string[]
  readonly shown: string
}

/** Finds `PUT /things/{id}/start` for `/things/7/strat`; undefined when no route is near. */
export type FindNearest = (method: string, path: string) => string | undefined

/** Prepares the search among the documented routes. */
export function createFindNearest(routes: readonly KnownRoute[]): FindNearest {
  const templates = routes.filter(({ describe }) => describe !== undefined).map(templateOf)
  return (method, path) => {
    const segments = segmentsOf(path)
    if (segments.length === 0 || segments.length > maxSegments) return undefined
    if (segments.some(({ length }) => length > maxLength)) return undefined
    let nearest: { template: Template; distance: number } | undefined
    for (const template of templates) {
      const distance = distanceTo(template, segments)
      const isNearer = nearest === undefined || distance < nearest.distance
      const hasMethod = distance === nearest?.distance && !nearest.template.methods.includes(method)
      if (distance <= maxDistance && (isNearer || (hasMethod && template.methods.includes(method))))
        nearest = { template, distance }
    }
    if (nearest === undefined) return undefined
    const { methods, shown } = nearest.template
    return `${methods.includes(method) ? method : methods[0]} ${shown}`
  }
}

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '')

const templateOf = ({ path, methods }: KnownRoute): Template => ({
  segments: segmentsOf(path.replace(/\{[^}]*\}/g, '')),
  methods,
  shown: path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}'),
})

/** Each parameter stands for any segment. A segment too many or too few counts as the largest difference. */
function distanceTo({ segments: wanted }: Template, given: readonly string[]): number {
  if (wanted.length === given.length) return sumOf(wanted, given)
  const [longer, shorter] = wanted.length > given.length ? [wanted, given] : [given, wanted]
  if (longer.length - shorter.length > 1) return Number.POSITIVE_INFINITY
  const without = longer.map((_, index) => longer.toSpliced(index, 1))
  const sums = without.map((rest) => (longer === wanted ? sumOf(rest, given) : sumOf(wanted, rest)))
  return maxDistance + Math.min(...sums)
}

/** A template whose names are all missing has nothing in common with the path. */
function sumOf(wanted: readonly string[], given: readonly string[]): number {
  if (wanted.every((segment) => segment.startsWith(':'))) return Number.POSITIVE_INFINITY
  let sum = 0
  for (const [index, segment] of wanted.entries()) {
    if (sum > maxDistance) return Number.POSITIVE_INFINITY
    if (!segment.startsWith(':')) sum += editDistance(segment, (given[index] ?? '').toLowerCase())
  }
  return sum
}

/** The Levenshtein distance; infinite when the lengths alone differ too much, or for another word of that length. */
function editDistance(a: string, b: string): number {
  if (a === b) return 0
  if (Math.abs(a.length - b.length) > maxDistance) return Number.POSITIVE_INFINITY
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (let j = 1; j <= b.length; j += 1) {
      const kept = (row[j - 1] ?? 0) + (letter === b[j - 1] ? 0 : 1)
      next.push(Math.min(kept, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  const distance = row[b.length] ?? 0
  return distance * 2 <= Math.max(a.length, 3) ? distance : Number.POSITIVE_INFINITY
}
