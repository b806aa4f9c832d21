import type { Route } from '../../platform/http/server/routes.ts'
import { type DocumentationSettings, docsRoutes } from './docs-page.ts'
import { homeRoute } from './home-page.ts'
import { problemPageRoutes } from './problem-pages.ts'

/** The documentation pages of a server. They need no caller. */
export const documentationRoutes = (settings: DocumentationSettings): Route[] => [
  homeRoute(settings),
  ...docsRoutes(settings),
  ...problemPageRoutes(settings),
]

/** The tag of these operations in an OpenAPI document, with its description. */
export const documentationTag = { documentation: 'Pages and documents for those who write clients.' }
