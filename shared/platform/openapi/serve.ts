import type { Route } from '../http/server/routes.ts'
import { createDocument, type DocumentOptions } from './document.ts'

interface ServedDocument extends Pick<DocumentOptions, 'routes'> {
  /** The paths of the document. */
  readonly paths: readonly string[]
  /** Makes everything else that the document says. */
  readonly describe: () => Omit<DocumentOptions, 'routes'>
}

/** The routes of a document that describes `routes` and itself. It is rendered once, for the first request. */
export function openApiRoutes({ paths, routes, describe }: ServedDocument): Route[] {
  let rendered: string | undefined
  const render = (): string => JSON.stringify(createDocument({ ...describe(), routes: [...routes, ...own] }))
  const own = paths.map(
    (path, index): Route => ({
      methods: ['GET'],
      path,
      describe: () => [
        {
          id: index === 0 ? 'getOpenApi' : `getOpenApi${index + 1}`,
          summary: 'Read this document',
          tag: 'operation',
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
