import type { Draining } from '../../platform/http/server/drain.ts'
import { type Dependency, healthRoutes } from '../../platform/http/server/health.ts'
import type { Route } from '../../platform/http/server/routes.ts'
import { metricsRoute } from '../../platform/metrics/serve-metrics.ts'
import type { Systems } from '../../platform/systems/systems.ts'
import { type DocumentationSettings, docsRoutes } from './docs-page.ts'
import { homeRoute } from './home-page.ts'
import { problemPageRoutes } from './problem-pages.ts'

/** Health, and metrics without METRICS_PORT. They need no caller. */
export const operationRoutes = (
  { metricsPort }: { readonly metricsPort: number | undefined },
  dependencies: readonly Dependency[],
  { metrics, draining }: Systems & { readonly draining?: Draining },
): Route[] => [...healthRoutes(dependencies, draining), ...(metricsPort === undefined ? [metricsRoute(metrics)] : [])]

/** The documentation pages of a server. They need no caller. */
export const documentationRoutes = (settings: DocumentationSettings): Route[] => [
  homeRoute(settings),
  ...docsRoutes(settings),
  ...problemPageRoutes(settings),
]

/** The tag of these operations in an OpenAPI document, with its description. */
export const documentationTag = { documentation: 'Pages and documents for those who write clients.' }
