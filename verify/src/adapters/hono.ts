/** The middleware for Hono: `c.get('caller')` is the caller of a request. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context, MiddlewareHandler } from 'hono'
import { endOf } from '../../../shared/platform/http/transport.ts'
import { Refusal } from '../verifier/refusal.ts'
import type { Caller, Origin, Verifier } from '../verifier/verifier.ts'

declare module 'hono' {
  interface ContextVariableMap {
    /** The caller, behind `authenticate` of keyhold-verify. */
    caller: Caller
  }
}

/** Options of the middleware. */
export interface AuthenticateOptions {
  /** The address of the other end of the connection, where the server is not `@hono/node-server`. */
  readonly clientAddress?: (context: Context) => string
  /** Whether that connection is over TLS, on such a server; it is not when left out. */
  readonly encrypted?: (context: Context) => boolean
}

/**
 * Verifies each request, and answers those that are refused.
 *
 * @example
 * ```ts
 * app.use(authenticate(verifier))
 * app.get('/me', (c) => c.text(c.get('caller').username))
 * ```
 */
export function authenticate(verifier: Verifier, options: AuthenticateOptions = {}): MiddlewareHandler {
  const { clientAddress, encrypted = () => false } = options
  const originOf = (context: Context): Origin =>
    clientAddress ? { clientAddress: clientAddress(context), encrypted: encrypted(context) } : originInNode(context)
  return async (context, next) => {
    const caller = await orAnswer(context, () => verifier.verify(context.req.raw, originOf(context)))
    if (caller instanceof Response) return caller
    context.set('caller', caller)
    await next()
    for (const [name, value] of caller.responseHeaders) context.header(name, value, { append: true })
    return undefined
  }
}

/**
 * Demands rights of the caller.
 *
 * @example
 * ```ts
 * app.post('/invoices/:id/approve', requireRight('invoice.approve'), (c) => c.text('approved'))
 * ```
 */
export function requireRight(...rights: readonly [string, ...string[]]): MiddlewareHandler {
  return async (context, next) => {
    const refused = await orAnswer(context, async () => context.get('caller').require(...rights))
    return refused instanceof Response ? refused : next()
  }
}

/** The result of the work, or the answer to its refusal. */
async function orAnswer<Result>(context: Context, work: () => Promise<Result>): Promise<Result | Response> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) return answerOf(error, context)
    throw error
  }
}

/** `Response` joins several lines of a field, and clients misread joined challenges. So these go to Node.js itself. */
function answerOf(refusal: Refusal, { env }: Context): Response {
  const response = refusal.toResponse()
  const { outgoing } = (env ?? {}) as { outgoing?: ServerResponse }
  for (const [name, lines] of Object.entries(refusal.headers)) {
    if (!outgoing || lines.length < 2) continue
    outgoing.setHeader(name, lines)
    response.headers.delete(name)
  }
  return response
}

/** @throws TypeError where there is no `@hono/node-server` */
function originInNode({ env }: Context): Origin {
  const { incoming } = (env ?? {}) as { incoming?: IncomingMessage }
  if (!incoming) throw new TypeError('authenticate needs the option clientAddress on this server of Hono')
  const { address: clientAddress, encrypted } = endOf(incoming.socket)
  return { clientAddress, encrypted }
}
