/**
 * The pages of problem codes, to which the `type` of each problem document leads: HTML for browsers, JSON for programs.
 */
import { STATUS_CODES } from 'node:http'
import { cacheableResponse } from '../../platform/http/cacheable.ts'
import { prefersJson } from '../../platform/http/content/accept.ts'
import type { JsonSchema, Operation } from '../../platform/http/operation.ts'
import type { HttpRequest } from '../../platform/http/request.ts'
import type { HttpResponse } from '../../platform/http/response.ts'
import type { Route } from '../../platform/http/server/routes.ts'
import { ProblemError } from '../../platform/problems/errors.ts'
import { type ExplainedProblem, explainedProblems } from '../../protocol/problems/catalogue.ts'
import { html, type Markup } from '../html/markup.ts'
import { htmlType, pageResponse, renderPage } from '../html/page.ts'
import type { DocumentationSettings } from './docs-page.ts'

/** A page as HTML and as JSON. */
interface TwoForms {
  readonly page: string
  readonly json: string
}

/** The routes `/problems` and `/problems/{code}`, for the codes of both servers. */
export function problemPageRoutes({ server, publicOrigins, expiredTokenStatus }: DocumentationSettings): Route[] {
  const problems = explainedProblems(expiredTokenStatus).map((problem) => ({
    type: `${publicOrigins[server]}/problems/${problem.code}`,
    ...problem,
  }))
  const list: TwoForms = { page: renderList(problems), json: JSON.stringify({ items: problems, nextCursor: null }) }
  const byCode = new Map<string, TwoForms>(
    problems.map((problem) => [problem.code, { page: renderProblem(problem), json: JSON.stringify(problem) }]),
  )
  return [
    {
      methods: ['GET'],
      path: '/problems',
      describe: () => [describeList],
      handle: (request) => answerForm(request, list),
    },
    {
      methods: ['GET'],
      path: '/problems/:code',
      describe: () => [describeProblem],
      handle: (request) => answerForm(request, byCode.get(request.pathParameters.code ?? '')),
    },
  ]
}

/** @throws ProblemError `not-found` for an unknown code */
function answerForm(request: HttpRequest, forms: TwoForms | undefined): HttpResponse {
  if (!forms)
    throw new ProblemError('not-found', 'There is no problem of this code. All of them are listed at /problems/.')
  const common = { cacheControl: 'public, max-age=300', headers: { vary: 'Accept' } }
  return prefersJson(request.header('accept'))
    ? cacheableResponse(request, { ...common, contentType: 'application/json', body: forms.json })
    : pageResponse(request, { ...common, text: forms.page })
}

const serverNames = { auth: 'auth server', deal: 'deal server' } as const

const namesOf = ({ servers }: ExplainedProblem): string => servers.map((server) => serverNames[server]).join(' and ')

const renderInFrame = (title: string, body: Markup): string =>
  renderPage({ title, base: '/docs', styles: ['pages.css'], body })

const renderList = (problems: readonly ExplainedProblem[]): string =>
  renderInFrame(
    'Keyhold problems',
    html`<header>
<p class="brand">Keyhold</p>
<nav aria-label="Documentation"><a href="/docs">Documentation</a></nav>
</header>
<main class="text">
<h1>Problems</h1>
<p>Whatever is refused is answered with a problem document (RFC 9457). Its member <code>code</code> is one of these.</p>
<div class="wide" role="region" aria-label="All problems" tabindex="0">
<table>
<thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Title</th><th scope="col">Answered by</th></tr></thead>
<tbody>
${problems.map(
  (problem) =>
    html`<tr><th scope="row"><a href="/problems/${problem.code}"><code>${problem.code}</code></a></th><td>${problem.status}</td><td>${problem.title}</td><td>${namesOf(problem)}</td></tr>\n`,
)}</tbody>
</table>
</div>
</main>`,
  )

const renderProblem = (problem: ExplainedProblem): string =>
  renderInFrame(
    `${problem.title} – Keyhold`,
    html`<header>
<p class="brand">Keyhold</p>
<nav aria-label="Documentation"><a href="/problems/">All problems</a> <a href="/docs">Documentation</a></nav>
</header>
<main class="text">
<h1>${problem.title}</h1>
<dl>
<dt>Code</dt><dd><code>${problem.code}</code></dd>
<dt>Status</dt><dd>${problem.status} ${STATUS_CODES[problem.status] ?? ''}</dd>
<dt>What it means</dt><dd>${problem.meaning}</dd>
<dt>What to do</dt><dd>${problem.remedy}</dd>
<dt>Answered by</dt><dd>${namesOf(problem)}</dd>
</dl>
</main>`,
  )

const text = { type: 'string' } as const
const problemSchema: JsonSchema = {
  type: 'object',
  required: ['type', 'code', 'status', 'title', 'meaning', 'remedy', 'servers'],
  properties: {
    type: { ...text, format: 'uri' },
    code: text,
    status: { type: 'integer' },
    title: text,
    meaning: { ...text, description: 'When it happens.' },
    remedy: { ...text, description: 'What the caller does about it.' },
    servers: { type: 'array', items: { enum: ['auth', 'deal'] }, description: 'The servers that answer with it.' },
  },
}

const describeForms = (
  operation: Pick<Operation, 'id' | 'summary' | 'problems'>,
  description: string,
  schema: JsonSchema,
): Operation => ({
  ...operation,
  description: 'Needs no caller, so that a client can look up a code when its credential is refused.',
  tags: ['documentation'],
  security: [],
  headers: ['IfNoneMatch'],
  responses: {
    200: { description, schema, alternatives: [htmlType], headers: ['ETag'] },
    304: { description: 'It is still what `If-None-Match` names.', headers: ['ETag'] },
  },
})

const describeList = describeForms(
  { id: 'listProblems', summary: 'List the codes of problem documents', problems: [] },
  'The codes of both servers, as JSON or as a page, by `Accept`.',
  {
    type: 'object',
    required: ['items', 'nextCursor'],
    properties: { items: { type: 'array', items: problemSchema }, nextCursor: { const: null } },
  },
)

const describeProblem = describeForms(
  { id: 'getProblem', summary: 'Read what a code means and what to do about it', problems: ['not-found'] },
  'What it means, as JSON or as a page, by `Accept`.',
  problemSchema,
)
