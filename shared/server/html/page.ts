/** The frame of all pages, and the header fields that keep foreign content out of them. */

import { cacheableResponse } from '../../platform/http/cacheable.ts'
import type { HttpRequest } from '../../platform/http/request.ts'
import type { HttpResponse } from '../../platform/http/response.ts'
import { html, type Markup } from './markup.ts'
import { type PageAsset, pageAssets } from './page-assets.ts'

/** The parts in which pages differ. */
export interface Page {
  readonly title: string
  /** Assets are served below `<base>/assets`. */
  readonly base: string
  readonly styles: readonly PageAsset[]
  readonly scripts?: readonly PageAsset[]
  readonly body: Markup
}

/** Renders the whole document. All its scripts and styles are files of this server. */
export const renderPage = ({ title, base, styles, scripts = [], body }: Page): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="${pageAssets.path(base, 'keyhold.svg')}">
${styles.map((name) => html`<link rel="stylesheet" href="${pageAssets.path(base, name)}">\n`)}${scripts.map(
  (name) => html`<script src="${pageAssets.path(base, name)}" defer></script>\n`,
)}</head>
<body>
${body}
</body>
</html>
`.toString()

/** Directives of a Content-Security-Policy (CSP Level 3) by name. */
export type Policy = Readonly<Record<string, readonly string[]>>

/** Forbids everything that pages do not need. */
const basePolicy: Policy = {
  'default-src': ["'none'"],
  'style-src': ["'self'"],
  'img-src': ["'self'"],
  'form-action': ["'none'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'none'"],
}

interface RenderedPage {
  readonly text: string
  readonly cacheControl: string
  /** Directives that are added to the policy of all pages, or replace a directive of it. */
  readonly policy?: Policy
  readonly headers?: HttpResponse['headers']
}

/** The media type of pages. */
export const htmlType = 'text/html; charset=utf-8'

/**
 * The header fields that keep foreign content out of a page. The referrer policy hides paths from other sites, and
 * still lets forms send their origin: with `no-referrer` or `same-origin`, a browser sends `Origin: null` from a page
 * of one server to the other server (Fetch §3.2).
 */
export const pageHeaders = (policy: Policy = {}) => ({
  'content-security-policy': Object.entries({ ...basePolicy, ...policy })
    .map(([name, sources]) => [name, ...new Set(sources)].join(' '))
    .join('; '),
  'referrer-policy': 'strict-origin',
  'cross-origin-opener-policy': 'same-origin',
})

/** Answers a page that is the same for everybody. */
export const pageResponse = (
  request: HttpRequest,
  { text, cacheControl, policy, headers }: RenderedPage,
): HttpResponse =>
  cacheableResponse(request, {
    contentType: htmlType,
    cacheControl,
    body: text,
    headers: { ...pageHeaders(policy), ...headers },
  })
