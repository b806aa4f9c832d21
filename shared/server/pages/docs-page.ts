/** The documentation page: Swagger UI for the OpenAPI document of the server itself. */

import type { Operation } from '../../platform/http/operation.ts'
import type { Route } from '../../platform/http/server/routes.ts'
import { docsClientId } from '../../protocol/access-token/access-token.ts'
import type { SchemeName } from '../../protocol/authentication/scheme.ts'
import type { ServerName } from '../../protocol/problems/catalogue.ts'
import { html, type Markup, nothing } from '../html/markup.ts'
import { htmlType, type Policy, pageResponse, renderPage } from '../html/page.ts'
import { pageAssets } from '../html/page-assets.ts'
import { docsPages } from './page-paths.ts'

/** The settings of the documentation pages. */
export interface DocumentationSettings {
  readonly server: ServerName
  readonly publicOrigins: Readonly<Record<ServerName, string>>
  /** The enabled schemes. Without `session` and `bearer`, nobody signs in on the page. */
  readonly schemes: readonly SchemeName[]
  readonly expiredTokenStatus: number
}

/** A documentation page: its path and the document that it shows. */
interface Place {
  readonly id: string
  readonly base: string
  readonly document: string
}

const atRoot: Place = { id: 'Docs', base: '/docs', document: '/openapi.json' }
const belowRest: Place = { id: 'RestDocs', base: '/rest/docs', document: '/rest/openapi.json' }

/**
 * The pages of each server. When both servers share an origin, only paths below /rest reach the deal server, so it
 * serves its page and the files of the page there, too.
 */
const placesOf: Readonly<Record<ServerName, readonly Place[]>> = { auth: [atRoot], deal: [atRoot, belowRest] }

/** The routes of the documentation of this server and of the files that its pages load. */
export const docsRoutes = (settings: DocumentationSettings): Route[] =>
  placesOf[settings.server].flatMap((place) => [pageRoute(place, settings), assetRoute(place)])

function pageRoute(place: Place, settings: DocumentationSettings): Route {
  let text: string | undefined
  const policy = policyOf(place, settings)
  return {
    methods: ['GET'],
    path: place.base,
    describe: () => [describePage(place)],
    handle: (request) => {
      // Rendered for the first reader: the page names the versions of its files, which are large.
      text ??= renderDocs(place, settings)
      return pageResponse(request, { text, policy, cacheControl: 'no-cache' })
    },
  }
}

const assetRoute = (place: Place): Route => ({
  methods: ['GET'],
  path: `${place.base}/assets/:file`,
  describe: () => [describeAsset(place)],
  handle: pageAssets.respond,
})

/** The URL of a page that signs people in; undefined for one that does not. */
function signInUrl({ base }: Place, { server, publicOrigins, schemes }: DocumentationSettings): string | undefined {
  const hasSchemes = schemes.includes('session') && schemes.includes('bearer')
  return hasSchemes ? docsPages(publicOrigins).find((url) => url === publicOrigins[server] + base) : undefined
}

/**
 * The content security policy. Swagger UI needs the images in its style sheet (`data:`) and calls to the server that it
 * documents, and signing in needs those to the auth server. To sign out is a form whose response redirects back to this
 * page, and browsers apply `form-action` to redirects, too.
 */
function policyOf(place: Place, settings: DocumentationSettings): Policy {
  const { auth, [settings.server]: own } = settings.publicOrigins
  const signsIn = signInUrl(place, settings) !== undefined
  return {
    'script-src': ["'self'"],
    'img-src': ["'self'", 'data:'],
    'connect-src': ["'self'", own, ...(signsIn ? [auth] : [])],
    ...(signsIn && { 'form-action': [auth, own] }),
  }
}

const names: Readonly<Record<ServerName, string>> = { auth: 'auth server', deal: 'deal server' }

/** What `docs.js` makes a sign-in of, if there is one. */
const signIn = (
  authOrigin: string,
  page: string | undefined,
): Markup => html`<section class="session" aria-labelledby="session-heading">
<h2 id="session-heading">Sign in</h2>
<p id="who" role="status">A request carries one credential, and no cookie: give any with <b>Authorize</b>, such as the access token of <code>POST /login</code>.</p>
${
  page === undefined
    ? nothing
    : html`<button type="button" id="sign-in" data-auth="${authOrigin}" data-client="${docsClientId}" data-page="${page}" hidden>Sign in</button>
<form id="sign-out" method="post" action="${authOrigin}/oauth/logout" hidden>
<input type="hidden" name="post_logout_redirect_uri" value="${page}">
<button>Sign out</button>
</form>`
}
</section>`

function renderDocs(place: Place, settings: DocumentationSettings): string {
  const { base, document } = place
  const { server, publicOrigins } = settings
  const { auth, deal, [server]: own } = publicOrigins
  const other =
    server === 'auth' ? { name: names.deal, page: `${deal}/rest/docs` } : { name: names.auth, page: `${auth}/docs` }
  return renderPage({
    title: `Keyhold ${names[server]}`,
    base,
    styles: ['swagger-ui.css', 'pages.css'],
    scripts: ['swagger-ui-bundle.js', 'docs.js'],
    body: html`<header>
<p class="brand">Keyhold ${names[server]}</p>
<nav aria-label="Documentation">
<a href="${document}">OpenAPI document</a>
<a href="/problems/">Problems</a>
<a href="${other.page}">Documentation of the ${other.name}</a>
</nav>
</header>
<p id="elsewhere" class="notice" hidden>Calls go to ${own}, and a browser lets only pages of that origin make them: <a href="${own + base}">open this page there</a>.</p>
${signIn(auth, signInUrl(place, settings))}
<div id="swagger-ui" data-document="${document}" data-origin="${own}"><noscript><p>This page needs JavaScript. All that it shows is in <a href="${document}">the OpenAPI document</a>.</p></noscript></div>`,
  })
}

const open = { tags: ['documentation'], security: [], headers: ['IfNoneMatch'] } as const
const unchanged = { description: 'It is still what `If-None-Match` names.', headers: ['ETag'] } as const

const describePage = ({ id }: Place): Operation => ({
  ...open,
  id: `get${id}`,
  summary: 'Browse this documentation',
  description: 'The OpenAPI document as a page, from which requests can be sent. It loads nothing from elsewhere.',
  responses: {
    200: { description: 'A page for browsers.', mediaType: htmlType, schema: { type: 'string' }, headers: ['ETag'] },
    304: unchanged,
  },
  problems: [],
})

const describeAsset = ({ id }: Place): Operation => ({
  ...open,
  id: `get${id}Asset`,
  summary: 'Read a file that pages load',
  description: 'A style sheet, a script or an image of this server: pages load nothing from elsewhere.',
  responses: {
    200: {
      description: 'A style sheet, a script or an image.',
      mediaType: 'text/css; charset=utf-8',
      alternatives: ['text/javascript; charset=utf-8', 'image/svg+xml; charset=utf-8'],
      schema: { type: 'string' },
      headers: ['ETag'],
    },
    304: unchanged,
  },
  problems: ['not-found'],
})
