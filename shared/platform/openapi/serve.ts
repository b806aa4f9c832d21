import type { Route } from '../http/server/routes.ts'
import { projectVersion } from '../project-folder.ts'
import { createDocument, type DocumentOptions } from './document.ts'

interface ServedDocument extends Pick<DocumentOptions, 'routes'> {
  /** The path of the document for each id of an operation. */
  readonly paths: Readonly<Record<string, string>>
  /** Makes everything else that the document says. */
  readonly describe: () => Omit<DocumentOptions, 'routes' | 'version'>
}

/** The routes of a document that describes `routes` and itself. It is rendered once, for the first request. */
export function openApiRoutes({ paths, routes, describe }: ServedDocument): Route[] {
  let rendered: string | undefined
  const render = (): string =>
    JSON.stringify(createDocument({ ...describe(), version: projectVersion(), routes: [...routes, ...own] }))
  const own = Object.entries(paths).map(
    ([id, path]): Route => ({
      methods: ['GET'],
      path,
      describe: () => [
        {
          id,
          summary: 'Read this document',
          description: 'The description of all routes of this server, for people and for generators of clients.',
          tags: ['operation'],
          responses: { 200: { description: 'An OpenAPI 3.1 document.', schema: { type: 'object' } } },
          problems: [],
          security: [],
        },
      ],
      handle: () => {
        rendered ??= render()
        return {
          status: 200,
          headers: { 'content-type': 'application/json', 'cache-control': 'public, max-age=300' },
          body: rendered,
        }
      },
    }),
  )
  return own
}
