/**
 * The files that pages load: our own and those of Swagger UI, each read once. No file comes from another host: pages
 * work offline.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { cacheableResponse, entityTag } from '../../platform/http/cacheable.ts'
import type { HttpRequest } from '../../platform/http/request.ts'
import type { HttpResponse } from '../../platform/http/response.ts'
import { ProblemError } from '../../platform/problems/errors.ts'
import { projectFolder } from '../../platform/project-folder.ts'

interface Asset {
  readonly contentType: string
  readonly body: string
  readonly etag: string
  /** Changes with the content. It is part of the URL, so that browsers may keep the file for ever. */
  readonly version: string
}

const ownFolder = join(projectFolder, 'shared/server/html/assets')
const ofOurs = () => ownFolder
const ofSwaggerUi = () => dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

const places = {
  'pages.css': ofOurs,
  'docs.js': ofOurs,
  'console.css': ofOurs,
  'console.js': ofOurs,
  'views.js': ofOurs,
  'bulk.js': ofOurs,
  'live.js': ofOurs,
  'secret.js': ofOurs,
  'reset-code.js': ofOurs,
  'second-factor.js': ofOurs,
  'follow.js': ofOurs,
  'keyhold.svg': ofOurs,
  'swagger-ui.css': ofSwaggerUi,
  'swagger-ui-bundle.js': ofSwaggerUi,
} as const

/** The name of a file that pages load. */
export type AssetName = keyof typeof places

const contentTypes: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
}

const assets = new Map<string, Asset>()

function assetOf(name: AssetName): Asset {
  const known = assets.get(name)
  if (known) return known
  const body = readFileSync(join(places[name](), name), 'utf8')
  const etag = entityTag(body)
  const contentType = contentTypes[name.replace(/^.*\./, '')] ?? 'application/octet-stream'
  const asset = { contentType, body, etag, version: etag.slice(1, 13) }
  assets.set(name, asset)
  return asset
}

const isAssetName = (name: string): name is AssetName => Object.hasOwn(places, name)

/** The path of a file for pages whose assets are served below `base`. */
export const assetPath = (base: string, name: AssetName): string => `${base}/assets/${name}?v=${assetOf(name).version}`

/**
 * Answers the file that the path names. It is cacheable for ever if the URL names its version. @throws ProblemError
 * `not-found`
 */
export function assetResponse(request: HttpRequest): HttpResponse {
  const name = request.pathParameters.file ?? ''
  if (!isAssetName(name)) throw new ProblemError('not-found', 'There is no such file.')
  const { contentType, body, etag, version } = assetOf(name)
  const isThisVersion = request.query.get('v') === version
  const cacheControl = isThisVersion ? 'public, max-age=31536000, immutable' : 'no-cache'
  return cacheableResponse(request, { contentType, body, etag, cacheControl })
}
