/** `/console/webhooks` and `/console/webhooks/new`: all webhooks, and a new one. */
import { atFields } from '../frame/at-fields.ts'
import type { PageResult } from '../frame/console.tsx'
import { type Column, Notice, Pager, Table, Time } from '../frame/content.tsx'
import type { DealPage, DealReply, DealVisit } from '../frame/deal-api.ts'
import { ErrorSummary, type FormFaults } from '../frame/fields.tsx'
import type { Reader } from '../frame/reader.ts'
import { Secret, secretScripts } from '../frame/secret.tsx'
import { webhookTexts as texts } from '../texts/webhooks.ts'
import { pathOfWebhook, type Webhook, webhooksPath } from './shapes.ts'
import { bodyOf, entriesIn, passwordIn, WebhookForm, webhookFields } from './webhook-form.tsx'

const right = 'webhook.manage'

/** The list. */
export const webhooksPage = (): DealPage => ({
  methods: ['GET'],
  path: webhooksPath,
  right,
  render: async ({ request, api, reader }) => {
    const query = new URLSearchParams([...request.query].filter(([name]) => name !== 'done'))
    const { items, nextCursor } = await api.get('GET /rest/v1/webhooks', { query })
    return {
      title: texts.title,
      content: (
        <>
          <div class="head">
            <h1>{texts.title}</h1>
            <a class="button" href={`${webhooksPath}/new`}>
              {texts.create}
            </a>
          </div>
          <Notice>{doneText(request.query)}</Notice>
          <p class="hint">{texts.intro}</p>
          <Table caption={texts.title} columns={columnsFor(reader)} rows={items} empty={texts.none} />
          <Pager path={webhooksPath} query={query} nextCursor={nextCursor} />
        </>
      ),
    }
  },
})

/** What was done, by the code in the URL. */
export function doneText(query: URLSearchParams): string | undefined {
  const code = query.get('done') ?? ''
  return Object.hasOwn(texts.done, code) ? texts.done[code] : undefined
}

const columnsFor = (reader: Reader): Column<Webhook>[] => [
  {
    title: texts.url,
    cell: ({ id, url, description }) => (
      <>
        <a href={pathOfWebhook(id)}>{url}</a>
        {description !== null && <div class="hint">{description}</div>}
      </>
    ),
  },
  { title: texts.types, cell: ({ types }) => (types.length === 0 ? texts.allTypes : types.join(', ')) },
  { title: texts.state, isShort: true, cell: (webhook) => <StateBadge {...webhook} /> },
  {
    title: texts.lastSuccess,
    isShort: true,
    cell: ({ health }) => <Time time={health.lastSuccessAt} reader={reader} />,
  },
  { title: texts.failures, isNumber: true, cell: ({ health }) => reader.number(health.failures) },
]

/** The state of a webhook, in words. */
export const StateBadge = ({ state }: Pick<Webhook, 'state'>) => (
  <span class={state === 'active' ? 'badge good' : 'badge warn'}>{texts.states[state]}</span>
)

/** The form of a new webhook. The answer shows the secret, which no later page does. */
export const newWebhookPage = (): DealPage => ({
  methods: ['GET', 'POST'],
  path: `${webhooksPath}/new`,
  right,
  render: (visit) => (visit.request.method === 'GET' ? showForm(visit) : create(visit)),
})

const showForm = ({ form }: DealVisit, problem?: FormFaults & { readonly status: number }): PageResult => ({
  title: texts.create,
  status: problem?.status ?? 200,
  content: (
    <>
      <h1>{texts.create}</h1>
      <ErrorSummary problem={problem} fields={webhookFields} />
      <WebhookForm
        action={`${webhooksPath}/new`}
        entries={entriesIn(form)}
        problem={problem}
        submit={texts.submitCreate}
      />
    </>
  ),
})

async function create(visit: DealVisit): Promise<PageResult> {
  const reply = await visit.api.call('POST /rest/v1/webhooks', {
    body: { ...bodyOf(entriesIn(visit.form)), password: passwordIn(visit.form) },
  })
  return reply.ok ? secretPage(reply.body) : showForm(visit, atFields(reply.problem))
}

/** The page with a secret: it is the answer to the form, and never in a URL. */
export const secretPage = ({ id, url, secret }: DealReply<'POST /rest/v1/webhooks'>) => ({
  title: texts.secretTitle,
  scripts: secretScripts,
  content: (
    <>
      <h1>{texts.secretTitle}</h1>
      <p class="warning">{texts.secretOnce}</p>
      <section class="panel">
        <h2>{url}</h2>
        <Secret id="secret" label={texts.secret} value={secret} />
      </section>
      <a class="button" href={pathOfWebhook(id)}>
        {texts.toWebhook}
      </a>
    </>
  ),
})
