/** Which server has a path, by the OpenAPI documents of both (`paths.json`, which a test holds against them). */
import type { ServerName } from '../../client/src/index.ts'
import { hasDotSegment } from '../../shared/platform/http/server/request-target.ts'
import { WrongUsage } from '../../shared/platform/terminal/report.ts'
import paths from './paths.json' with { type: 'json' }

/** The servers, as `--server` names them. */
export const servers = ['auth', 'deal'] as const satisfies readonly ServerName[]

/** The methods that the command sends. */
export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const

/** One of the methods. */
export type Method = (typeof methods)[number]

/** The paths that a server has with this method; HEAD is wherever GET is. */
export const pathsWith = (method: Method): string[] =>
  servers.flatMap((server) =>
    Object.entries(paths[server]).flatMap(([path, allowed]) =>
      allowed.split(' ').includes(method === 'HEAD' ? 'GET' : method) ? [path] : [],
    ),
  )

/** The server of a path. @throws WrongUsage for a path that leads elsewhere, or that not exactly one server has */
export function serverOf(path: string, named: ServerName | undefined): ServerName {
  if (!/^\/(?!\/)[^\\#\s\p{Cc}]*$/u.test(path) || hasDotSegment(path)) {
    throw new WrongUsage('The path begins with one slash, such as /users, and has no segment . or ..')
  }
  if (named !== undefined) return named
  const [route = ''] = path.split('?')
  const [found, other] = servers.filter((server) => Object.keys(paths[server]).some((known) => fits(known, route)))
  if (found !== undefined && other === undefined) return found
  throw new WrongUsage(`${found ? 'Both servers have' : 'No server has'} ${route}. Name one: --server auth or deal.`)
}

function fits(known: string, route: string): boolean {
  const given = route.replace(/(?<=.)\/$/, '').split('/')
  const wanted = known.replace(/(?<=.)\/$/, '').split('/')
  return wanted.length === given.length && wanted.every((part, at) => part.startsWith('{') || part === given[at])
}
