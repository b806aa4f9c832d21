/** The first page of a server, `/`: what it is and where to go on. HTML for browsers, JSON for all others. */

import { cacheableResponse } from '../../platform/http/cacheable.ts'
import { preferredType } from '../../platform/http/content/accept.ts'
import type { Operation } from '../../platform/http/operation.ts'
import type { Route } from '../../platform/http/server/routes.ts'
import { ProblemError } from '../../platform/problems/errors.ts'
import { projectVersion } from '../../platform/project-folder.ts'
import type { ServerName } from '../../protocol/problems/catalogue.ts'
import { html } from '../html/markup.ts'
import { htmlType, pageResponse, renderPage } from '../html/page.ts'
import type { DocumentationSettings } from './docs-page.ts'
import { firstPages } from './page-paths.ts'

const about: Readonly<Record<ServerName, { readonly name: string; readonly purpose: string }>> = {
  auth: {
    name: 'auth server',
    purpose: 'It authenticates callers, issues and revokes credentials, and publishes its public keys.',
  },
  deal: {
    name: 'deal server',
    purpose: 'It checks credentials locally and runs the use cases of a deal, in seven HTTP styles.',
  },
}

interface Place {
  readonly rel: string
  readonly path: string
  readonly text: string
}

const common: readonly Place[] = [
  { rel: 'documentation', path: '/docs', text: 'Documentation, from which requests can be sent' },
  { rel: 'openapi', path: '/openapi.json', text: 'OpenAPI document, for generators of clients' },
  { rel: 'problems', path: '/problems/', text: 'Problems: what each code means and what to do about it' },
  { rel: 'readiness', path: '/readyz', text: 'Health: is it ready, and what does it need?' },
]

/** Readers sign in to the console by session: without that scheme there is none. */
const placesOf = ({ server, schemes }: DocumentationSettings): readonly Place[] =>
  schemes.includes('session')
    ? [{ rel: 'console', path: firstPages[server], text: 'Console, for people' }, ...common]
    : common

/** The route `/`. It needs no caller. */
export function homeRoute(settings: DocumentationSettings): Route {
  const json = JSON.stringify(contentOf(settings))
  let page: string | undefined
  return {
    methods: ['GET'],
    path: '/',
    describe: () => [describeHome],
    handle: (request) => {
      // Routers drop a slash at the end: `//` would be served too.
      if (request.path !== '/') throw new ProblemError('not-found', 'There is no such route.')
      const common = { cacheControl: 'public, max-age=300', headers: { vary: 'Accept' } }
      if (preferredType(request.header('accept'), ['application/json', 'text/html']) === 'application/json')
        return cacheableResponse(request, { ...common, contentType: 'application/json', body: json })
      page ??= renderHome(settings)
      return pageResponse(request, { ...common, text: page })
    },
  }
}

const otherOf = (server: ServerName): ServerName => (server === 'auth' ? 'deal' : 'auth')

const contentOf = ({ server, publicOrigins, ...settings }: DocumentationSettings) => ({
  name: `Keyhold ${about[server].name}`,
  version: projectVersion(),
  description: about[server].purpose,
  links: Object.fromEntries(
    placesOf({ server, publicOrigins, ...settings }).map(({ rel, path }) => [rel, publicOrigins[server] + path]),
  ),
  otherServer: { name: `Keyhold ${about[otherOf(server)].name}`, url: publicOrigins[otherOf(server)] },
})

function renderHome(settings: DocumentationSettings): string {
  const { server, publicOrigins } = settings
  const { name, purpose } = about[server]
  const other = otherOf(server)
  // With one origin for both, this page is that of the auth server.
  const otherPage = publicOrigins.auth === publicOrigins.deal ? '/rest/docs' : `${publicOrigins[other]}/`
  return renderPage({
    title: `Keyhold ${name}`,
    base: '/docs',
    styles: ['pages.css'],
    body: html`<header>
<p class="brand">Keyhold ${name}</p>
<nav aria-label="Servers"><a href="${otherPage}">The ${about[other].name}</a></nav>
</header>
<main class="text">
<h1>Keyhold ${name}</h1>
<p>${purpose} Version ${projectVersion()}.</p>
<ul>
${placesOf(settings).map(({ path, text }) => html`<li><a href="${path}">${text}</a></li>\n`)}</ul>
<p>The <a href="${otherPage}">${about[other].name}</a> is beside it. ${about[other].purpose}</p>
</main>`,
  })
}

const text = { type: 'string' } as const
const url = { type: 'string', format: 'uri' } as const

const describeHome: Operation = {
  id: 'getHome',
  summary: 'Read what this server is',
  description:
    'Names the server, its documentation, its health and the other server: as a page for browsers, else JSON.',
  tags: ['documentation'],
  security: [],
  headers: ['IfNoneMatch'],
  responses: {
    200: {
      description: 'What this server is, and where to go on.',
      schema: {
        type: 'object',
        required: ['name', 'version', 'description', 'links', 'otherServer'],
        properties: {
          name: text,
          version: text,
          description: text,
          links: {
            type: 'object',
            required: common.map(({ rel }) => rel),
            properties: Object.fromEntries([{ rel: 'console' }, ...common].map(({ rel }) => [rel, url])),
          },
          otherServer: { type: 'object', required: ['name', 'url'], properties: { name: text, url } },
        },
      },
      alternatives: [htmlType],
      headers: ['ETag'],
    },
    304: { description: 'It is still what `If-None-Match` names.', headers: ['ETag'] },
  },
  problems: [],
}
