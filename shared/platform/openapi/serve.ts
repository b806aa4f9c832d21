import type { Route } from '../http/server/routes.ts'
import { createDocument, type DocumentOptions } from './document.ts'

interface ServedDocument extends DocumentOptions {
  /** The paths of the document. */
  readonly paths: readonly string[]
}

/** The routes of a document that describes `routes` and itself. It is rendered once, when the server is created. */
export function openApiRoutes({ paths, ...options }: ServedDocument): Route[] {
  let body = ''
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
      handle: () => ({
        status: 200,
        headers: { 'content-type': 'application/json', 'cache-control': 'public, max-age=300' },
        body,
      }),
    }),
  )
  body = JSON.stringify(createDocument({ ...options, routes: [...options.routes, ...own] }))
  return own
}
