/** One media range of `Accept` with its weight (RFC 9110 §12.5.1). */
interface MediaRange {
  readonly range: string
  readonly quality: number
}

function mediaRanges(accept: string): MediaRange[] {
  return accept.split(',').map((part) => {
    const [range = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    const quality = weight === undefined ? 1 : Number(weight.slice(2))
    return { range, quality: Number.isFinite(quality) ? quality : 0 }
  })
}

/** The weight of the most specific range that contains the media type; 0 when none does. */
function qualityOf(mediaType: string, ranges: readonly MediaRange[]): number {
  const candidates = [mediaType, mediaType.replace(/\/.*$/, '/*'), '*/*']
  for (const candidate of candidates) {
    const found = ranges.find(({ range }) => range === candidate)
    if (found) return found.quality
  }
  return 0
}

/** True for a client that prefers JSON to HTML. A client without a preference gets HTML. */
export function prefersJson(accept: string | undefined): boolean {
  const ranges = mediaRanges(accept ?? '*/*')
  const json = Math.max(qualityOf('application/json', ranges), qualityOf('application/problem+json', ranges))
  return json > qualityOf('text/html', ranges)
}

/** The one of these media types that the client prefers; the first one of those that it likes equally. */
export function preferredType<MediaType extends string>(
  accept: string | undefined,
  offered: readonly [MediaType, ...MediaType[]],
): MediaType {
  const ranges = mediaRanges(accept ?? '*/*')
  const weights = offered.map((mediaType) => qualityOf(mediaType, ranges))
  return offered[weights.indexOf(Math.max(...weights))] ?? offered[0]
}
