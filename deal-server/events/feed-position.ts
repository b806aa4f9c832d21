/**
 * Positions of a feed over several logs, one for each shard. A client's position names one event of each log: the
 * last one that this client got. So every event that it did not get is after its position, whatever order the logs
 * were read in. With one log a position keeps its plain form (`event-log.ts`).
 */
import { type GivenPosition, parsePosition } from './event-log.ts'

/** The first byte: another layout would have another one. */
const layout = 1
const bytesOfMark = 6
/** A plain position has at most 15 digits. */
const largest = 999_999_999_999_999
/** 64 logs with the longest parts take 1,200 characters. */
const textPattern = /^[\w-]{4,1400}$/

/** The position of a client, as it is while events of several logs are sent. */
export class FeedPosition {
  readonly #parts: Buffer[]

  /** `parts`: one for each log. */
  constructor(parts: readonly GivenPosition[]) {
    this.#parts = parts.map(bytesOf)
  }

  /** The client got the event at this position of a log. */
  set(log: number, part: GivenPosition): void {
    this.#parts[log] = bytesOf(part)
  }

  /** The text for the client: opaque, in base64url. */
  text(): string {
    return Buffer.concat([Buffer.of(layout, this.#parts.length), ...this.#parts]).toString('base64url')
  }
}

/** A position that names these parts. */
export const positionText = (parts: readonly GivenPosition[]): string => new FeedPosition(parts).text()

/** The number in groups of seven bits, the lowest first, and the mark. The beginning, 0, is that of every timeline. */
function bytesOf({ position, mark }: GivenPosition): Buffer {
  const bytes: number[] = []
  let rest = position
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  bytes.push(rest)
  if (position === 0) return Buffer.from(bytes)
  if (mark === undefined) throw new TypeError('a position in a feed of several logs has a mark')
  return Buffer.concat([Buffer.from(bytes), Buffer.from(mark, 'hex')])
}

/** Reads a position: one part for a plain one, else one for each log. Undefined for other text. */
export function parseFeedPosition(text: string): readonly GivenPosition[] | undefined {
  const plain = parsePosition(text)
  if (plain) return [plain]
  if (!textPattern.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  const [first, count = 0] = bytes
  if (first !== layout || count < 2) return undefined
  const parts: GivenPosition[] = []
  let at = 2
  for (let log = 0; log < count; log += 1) {
    const part = readPart(bytes, at)
    if (!part) return undefined
    parts.push(part)
    at += bytesOf(part).length
  }
  // Each position has one text.
  return positionText(parts) === text ? parts : undefined
}

function readPart(bytes: Buffer, start: number): GivenPosition | undefined {
  let [position, at] = [0, start]
  for (let scale = 1; ; scale *= 128) {
    const byte = bytes[at]
    if (byte === undefined || scale > largest) return undefined
    position += (byte & 127) * scale
    at += 1
    if (byte < 128) break
  }
  if (position > largest) return undefined
  if (position === 0) return { position, mark: undefined }
  const mark = bytes.subarray(at, at + bytesOfMark)
  return mark.length < bytesOfMark ? undefined : { position, mark: mark.toString('hex') }
}

/** The logs of a feed. */
export interface FeedLogs {
  /** How many there are. */
  readonly count: number
  /** The log of the wanted deal; undefined when all are wanted. */
  readonly only: number | undefined
}

/** A position that means nothing for the wanted logs. The message is for the client. */
export class PositionFault extends Error {
  override readonly name = 'PositionFault'
}

/** What a given position means for each of the wanted logs, in their order. @throws PositionFault */
export function partsFor(given: readonly GivenPosition[], { count, only }: FeedLogs): readonly GivenPosition[] {
  const [first] = given
  if (first === undefined) throw new TypeError('a position has a part')
  if (given.length === count) return only === undefined ? given : given.slice(only, only + 1)
  if (given.length > 1) throw new PositionFault(`A position of ${given.length} shards; the server has ${count}.`)
  if (only !== undefined) return [first]
  if (first.position === 0 && first.mark === undefined) return Array.from({ length: count }, () => first)
  throw new PositionFault('The position of an event in its shard: use it with the deal of the event.')
}
