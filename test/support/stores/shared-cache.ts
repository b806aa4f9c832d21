import type { Backend, OpenBackend } from './backends.ts'

/** A backend with a database of its own, whose servers use the cache of another one. Close it first. */
export const withCacheOf = async (other: Backend, open: OpenBackend): Promise<Backend> => {
  const own = await open()
  const { REDIS_URL } = other.environment
  return {
    ...own,
    environment: { ...own.environment, ...(REDIS_URL && { REDIS_URL }) },
    openCache: (secrets) => other.openCache(secrets),
    redis: other.redis,
  }
}

/** The same data for one more stack, which leaves them there when it is closed. */
export const lent = (backend: Backend): OpenBackend => {
  return async () => ({ ...backend, close: async () => undefined })
}
