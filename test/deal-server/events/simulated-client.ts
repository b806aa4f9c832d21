import { randomUUID } from 'node:crypto'
import type { EventStreams } from '../../../deal-server/events/event-streams.ts'
import type { StreamRequest } from '../../../deal-server/events/stream-request.ts'
import type { BodyStream } from '../../../shared/platform/http/stream.ts'

/** Everything from the beginning. */
export const fromTheBeginning: StreamRequest = { after: 0, dealId: undefined, types: undefined }
/** Everything from now on. */
export const fromNowOn: StreamRequest = { after: undefined, dealId: undefined, types: undefined }

/** A client of a stream without a network: what it has received, and how it reads. */
export class SimulatedClient {
  /** A user of its own, unless set otherwise. */
  principalId: string = randomUUID()
  seesDeleted = true
  received = ''
  wasCut = false
  /** What the stream's run came to. */
  run: Promise<void> = Promise.resolve()
  #waiting = ''
  #isReading = true
  #ending = new AbortController()
  #drained: (() => void)[] = []

  async open(streams: EventStreams, request: StreamRequest, mayRead = async () => {}): Promise<boolean> {
    const ending = new AbortController()
    this.#ending = ending
    const body = await streams.open(request, {
      principalId: this.principalId,
      mayRead: async () => {
        await mayRead()
        return {
          user: { username: 'viewer', userId: 'viewer' },
          deals: 'all',
          deleted: this.seesDeleted ? 'all' : undefined,
        }
      },
    })
    if (body) this.run = body(this.#stream(ending)).finally(() => ending.abort())
    return body !== undefined
  }

  /** The ids of the events. */
  events(): string[] {
    return this.#received().flatMap(({ type, event }) => (type === 'reset' ? [] : [event]))
  }

  /** The ids of the events, as numbers. */
  numbers(): number[] {
    return this.events().map(Number)
  }

  /** The positions of the events. */
  positions(): number[] {
    return this.#received().flatMap(({ position, type }) => (type === 'reset' ? [] : [position]))
  }

  /** The positions after which the stream went on after another server took over. */
  resets(): number[] {
    return this.#received().flatMap(({ position, type }) => (type === 'reset' ? [position] : []))
  }

  /** The positions of the events since the last reset. */
  positionsSinceReset(): number[] {
    const received = this.#received()
    return received.slice(received.findLastIndex(({ type }) => type === 'reset') + 1).map(({ position }) => position)
  }

  /** What the client takes for true: a reset makes what came after its position untrue. */
  believed(): string[] {
    const believed: { position: number; event: string }[] = []
    for (const { position, type, event } of this.#received()) {
      if (type === 'reset') believed.splice(believed.findIndex((one) => one.position === position) + 1)
      else believed.push({ position, event })
    }
    return believed.map(({ event }) => event)
  }

  /** The mark of the history in the last id. */
  lastMark(): string | undefined {
    return this.#received().at(-1)?.mark
  }

  #received() {
    const blocks = this.received.matchAll(/^id: (\d+)-([0-9a-f]{12})\nevent: (.+)\ndata: (.+)$/gm)
    return [...blocks].map(([, position, mark, type, data = '{}']) => ({
      position: Number(position),
      mark,
      type,
      event: String(JSON.parse(data).id),
    }))
  }

  isOpen(): boolean {
    return !this.#ending.signal.aborted
  }

  /** Bytes that wait in the server. */
  waitingBytes(): number {
    return this.#waiting.length
  }

  read(isReading: boolean): void {
    this.#isReading = isReading
    if (!isReading) return
    this.received += this.#waiting
    this.#waiting = ''
    for (const drained of this.#drained.splice(0)) drained()
  }

  /** Goes away; what waited is lost. */
  async leave(): Promise<void> {
    this.#waiting = ''
    this.#ending.abort()
    await this.run
  }

  #stream(ending: AbortController): BodyStream {
    return {
      ended: ending.signal,
      write: (piece) => {
        if (ending.signal.aborted) return true
        const text = Buffer.from(piece).toString()
        if (this.#isReading) this.received += text
        else this.#waiting += text
        return this.#isReading
      },
      waitingBytes: () => this.#waiting.length,
      drained: () =>
        new Promise((resolve) => {
          if (this.#waiting === '' || ending.signal.aborted) return resolve()
          this.#drained.push(resolve)
          ending.signal.addEventListener('abort', () => resolve())
        }),
      cut: () => {
        this.wasCut = true
        ending.abort()
      },
    }
  }
}
