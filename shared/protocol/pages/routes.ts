import type { Route } from '../../platform/http/server/routes.ts'
import { type DocumentationSettings, docsRoutes } from './docs-page.ts'
import { problemPageRoutes } from './problem-pages.ts'

/** All pages of a server that explain it. They need no caller. */
export const documentationRoutes = (settings: DocumentationSettings): Route[] => [
  ...docsRoutes(settings),
  ...problemPageRoutes(settings),
]

/** What the operations of `documentationRoutes` have in common, for the tags of a document. */
export const documentationTag = { documentation: 'Pages and documents for those who write clients.' }
