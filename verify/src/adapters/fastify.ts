/** The plugin for Fastify: `request.caller` is the caller of a request. */
import type { FastifyPluginAsync, FastifyReply, onRequestAsyncHookHandler } from 'fastify'
import { Refusal } from '../verifier/refusal.ts'
import type { Caller, Verifier } from '../verifier/verifier.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, behind `authenticate` of keyhold-verify. */
    caller: Caller
  }
}

/**
 * Verifies each request of the instance that it is registered with, and answers those that are refused.
 *
 * @example
 * ```ts
 * await app.register(authenticate(verifier))
 * app.get('/me', async (request) => request.caller.username)
 * ```
 */
export function authenticate(verifier: Verifier): FastifyPluginAsync {
  const plugin: FastifyPluginAsync = async (instance) => {
    instance.decorateRequest('caller')
    instance.addHook('onRequest', async (request, reply) => {
      try {
        const caller = await verifier.verifyMessage(request.raw, request.originalUrl)
        request.caller = caller
        for (const [name, value] of caller.responseHeaders) reply.header(name, value)
      } catch (error) {
        return answer(error, reply)
      }
      return undefined
    })
  }
  // As `fastify-plugin` does it: the hook holds where the plugin is registered, and not in a context of its own.
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}

/**
 * Demands rights of the caller.
 *
 * @example
 * ```ts
 * app.post('/invoices/:id/approve', { onRequest: requireRight('invoice.approve') }, async () => 'approved')
 * ```
 */
export const requireRight =
  (...rights: readonly [string, ...string[]]): onRequestAsyncHookHandler =>
  async (request, reply) => {
    try {
      request.caller.require(...rights)
    } catch (error) {
      return answer(error, reply)
    }
    return undefined
  }

/** @throws an error that is no refusal */
function answer(error: unknown, reply: FastifyReply): FastifyReply {
  if (!(error instanceof Refusal)) throw error
  const { status, headers, document } = error
  for (const [name, lines] of Object.entries(headers)) reply.header(name, lines.length === 1 ? lines[0] : [...lines])
  // Octets: Fastify would change the content type of an object or a text.
  return reply.code(status).send(Buffer.from(JSON.stringify(document)))
}
