/** The files that pages load, each read once. No file comes from another host: pages work offline. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheableResponse, entityTag } from '../../platform/http/cacheable.ts'
import type { HttpRequest } from '../../platform/http/request.ts'
import type { HttpResponse } from '../../platform/http/response.ts'
import { ProblemError } from '../../platform/problems/errors.ts'

interface Asset {
  readonly contentType: string
  readonly body: string
  readonly etag: string
  /** Changes with the content. It is part of the URL, so that browsers may keep the file for ever. */
  readonly version: string
}

const contentTypes: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
}

/** A set of files that pages load by name. */
export interface Assets<Name extends string> {
  /** The path of a file for pages whose files are served below `base`. */
  path(base: string, name: Name): string
  /**
   * Responds with the file that the path names. It is cacheable for ever if the URL names its version. @throws
   * ProblemError `not-found`
   */
  respond(request: HttpRequest): HttpResponse
}

/** Makes a set of files. `folders` says in which folder each one lies; it is asked when the file is first needed. */
export function createAssets<Name extends string>(folders: Readonly<Record<Name, () => string>>): Assets<Name> {
  const assets = new Map<Name, Asset>()
  function assetOf(name: Name): Asset {
    const known = assets.get(name)
    if (known) return known
    const body = readFileSync(join(folders[name](), name), 'utf8')
    const etag = entityTag(body)
    const contentType = contentTypes[name.replace(/^.*\./, '')] ?? 'application/octet-stream'
    const asset = { contentType, body, etag, version: etag.slice(1, 13) }
    assets.set(name, asset)
    return asset
  }
  const isName = (name: string): name is Name => Object.hasOwn(folders, name)
  return {
    path: (base, name) => `${base}/assets/${name}?v=${assetOf(name).version}`,
    respond: function respondWithAsset(request) {
      const name = request.pathParameters.file ?? ''
      if (!isName(name)) throw new ProblemError('not-found', 'There is no such file.')
      const { contentType, body, etag, version } = assetOf(name)
      const isThisVersion = request.query.get('v') === version
      const cacheControl = isThisVersion ? 'public, max-age=31536000, immutable' : 'no-cache'
      return cacheableResponse(request, { contentType, body, etag, cacheControl })
    },
  }
}
