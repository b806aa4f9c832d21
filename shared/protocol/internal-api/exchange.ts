/**
 * What a deal server or another service asks an auth server below `/internal`. Each exchange is one file of this
 * folder, which client and endpoint both read: method, path, who may ask, the form of the requestBody and of the
 * answer. How both are proved: `requests.ts`, `responses.ts`; what is sealed: `internal-sealing.ts`.
 */
import type { z } from 'zod'
import type { PathParameters } from '../../platform/http/server/routes.ts'

type Form = z.ZodType | undefined

/** `services`: services alone (docs/contract/services.md). `all`: services and the pair. Others get 403. */
export type OpenTo = 'services' | 'all'

/** One exchange. */
export interface Exchange<
  Path extends string = string,
  RequestBody extends Form = Form,
  ResponseBody extends Form = Form,
> {
  readonly method: 'GET' | 'POST'
  /** Hono's path syntax, below `/internal`. */
  readonly path: Path
  /** Who may ask. Left out: the pair alone, which knows SERVICE_SECRET. */
  readonly openTo?: OpenTo
  /** The body of the request, if it has one. */
  readonly requestBody?: RequestBody
  /** The body of 200; without it, the answer is 204. */
  readonly responseBody?: ResponseBody
}

/** An exchange, with the types of its members. */
export const defineExchange = <const Defined extends Exchange>(exchange: Defined): Defined => exchange

/** What fills an exchange in. */
export interface Asked<Path extends string, RequestBody extends Form> {
  readonly path: PathParameters<Path>
  readonly query?: Readonly<Record<string, string>>
  readonly body: RequestBody extends z.ZodType ? z.input<RequestBody> : undefined
}

/** The requestBody as it is sent: method, path and query behind `/internal` with everything encoded, body. */
export function questionOf<Path extends string, RequestBody extends Form = undefined>(
  { method, path }: Exchange<Path, RequestBody>,
  asked: Asked<Path, RequestBody>,
) {
  const parameters: Readonly<Record<string, string>> = asked.path
  const filled = path.replace(/:([A-Za-z]+)/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''))
  const target = asked.query === undefined ? filled : `${filled}?${new URLSearchParams(asked.query)}`
  return { method, target, ...(asked.body === undefined ? {} : { body: asked.body as unknown }) }
}
