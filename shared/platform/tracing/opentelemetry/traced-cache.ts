import { SpanKind } from '@opentelemetry/api'
import type { Cache } from '../../cache/cache.ts'
import type { Spans } from './spans.ts'

/** A cache with a span for each call of a request. A span has the name of the call alone: keys name users. */
export function traceCache(cache: Cache, spans: Spans): Cache {
  const traced = <Parameters extends readonly unknown[], Result>(
    name: string,
    call: (...parameters: Parameters) => Promise<Result>,
  ): ((...parameters: Parameters) => Promise<Result>) => {
    const start = { name: `cache ${name}`, kind: SpanKind.CLIENT }
    return (...parameters) =>
      spans.within(
        () => start,
        () => call(...parameters),
      )
  }
  return {
    beginAttempt: traced('beginAttempt', (keys, id) => cache.beginAttempt(keys, id)),
    endAttempt: traced('endAttempt', (keys, attempt) => cache.endAttempt(keys, attempt)),
    allowsAttempt: traced('allowsAttempt', (keys) => cache.allowsAttempt(keys)),
    useNumber: traced('useNumber', (key, use) => cache.useNumber(key, use)),
    startNumbers: traced('startNumbers', (key, use) => cache.startNumbers(key, use)),
    putVersioned: traced('putVersioned', (key, entry, options) => cache.putVersioned(key, entry, options)),
    getVersioned: traced('getVersioned', (key) => cache.getVersioned(key)),
    time: traced('time', () => cache.time()),
    publish: traced('publish', (channel, message, fresh) => cache.publish(channel, message, fresh)),
    subscribe: (channel, listener) => cache.subscribe(channel, listener),
    isSilent: () => cache.isSilent(),
    listening: () => cache.listening(),
    ping: () => cache.ping(),
    close: () => cache.close(),
  }
}
