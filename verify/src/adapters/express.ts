/** The middleware for Express: `req.caller` is the caller of a request. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal } from '../verifier/refusal.ts'
import type { Caller, Verifier } from '../verifier/verifier.ts'

declare global {
  namespace Express {
    interface Request {
      /** The caller, behind `authenticate` of keyhold-verify. */
      caller: Caller
    }
  }
}

/** A request of Express, as far as the middleware uses it. */
interface ExpressRequest extends IncomingMessage {
  readonly originalUrl?: string
  caller?: Caller
}

/** A middleware of Express. */
export type Middleware = (request: ExpressRequest, response: ServerResponse, next: (error?: unknown) => void) => void

/**
 * Verifies each request, and answers those that are refused. It goes before parsers of bodies.
 *
 * @example
 * ```ts
 * app.use(authenticate(verifier))
 * app.get('/me', (req, res) => void res.send(req.caller.username))
 * ```
 */
export const authenticate =
  (verifier: Verifier): Middleware =>
  (request, response, next) => {
    const take = (caller: Caller): void => {
      request.caller = caller
      for (const [name, value] of caller.responseHeaders) response.appendHeader(name, value)
      next()
    }
    verifier.verifyMessage(request, request.originalUrl).then(take, (error) => answerOrPass(error, response, next))
  }

/**
 * Demands rights of the caller.
 *
 * @example
 * ```ts
 * app.post('/invoices/:id/approve', requireRight('invoice.approve'), (req, res) => void res.send('approved'))
 * ```
 */
export const requireRight =
  (...rights: readonly [string, ...string[]]): Middleware =>
  (request, response, next) => {
    try {
      if (!request.caller) throw new TypeError('requireRight goes after authenticate')
      request.caller.require(...rights)
    } catch (error) {
      answerOrPass(error, response, next)
      return
    }
    next()
  }

function answerOrPass(error: unknown, response: ServerResponse, next: (error: unknown) => void): void {
  if (error instanceof Refusal) answerInNode(error, response)
  else next(error)
}

/** Answers a refused request. Each line of a field stays a line: clients misread challenges that are joined. */
function answerInNode({ status, headers, document }: Refusal, response: ServerResponse): void {
  for (const [name, lines] of Object.entries(headers)) response.setHeader(name, lines)
  response.statusCode = status
  response.end(JSON.stringify(document))
}
