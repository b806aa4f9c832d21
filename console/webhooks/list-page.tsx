/** `/console/webhooks` and `/console/webhooks/new`: all webhooks, and a new one. */
import { atFields } from '../frame/at-fields.ts'
import type { PageResult } from '../frame/console.tsx'
import { type Column, Notice, Pager, Table, Time } from '../frame/content.tsx'
import type { DealPage, DealReply, DealVisit } from '../frame/deal-api.ts'
import { ErrorSummary, type FormFaults } from '../frame/fields.tsx'
import type { Reader } from '../frame/reader.ts'
import { shownOnce } from '../parts/show-once.tsx'
import { webhookTexts as texts } from '../texts/webhooks.ts'
import { pageOfWebhook, type Webhook, webhookPagesPath } from './shapes.ts'
import { bodyOf, entriesIn, passwordIn, WebhookForm, webhookFields } from './webhook-form.tsx'

const right = 'webhook.manage'

/** The list. */
export const webhooksPage = (): DealPage => ({
  methods: ['GET'],
  path: webhookPagesPath,
  right,
  render: async ({ request, api, reader }) => {
    const query = new URLSearchParams([...request.query].filter(([name]) => name !== 'done'))
    const { items, nextCursor } = await api.get('GET /rest/v1/webhooks', { query })
    return {
      title: 'Webhooks',
      content: (
        <>
          <div class="head">
            <h1>Webhooks</h1>
            <a class="button" href={`${webhookPagesPath}/new`}>
              New webhook
            </a>
          </div>
          <Notice>{webhookDoneText(request.query)}</Notice>
          <p class="hint">A webhook sends events of deals to a URL, signed, each at least once.</p>
          <Table caption="Webhooks" columns={columnsFor(reader)} rows={items} empty="There is no webhook yet." />
          <Pager path={webhookPagesPath} query={query} nextCursor={nextCursor} />
        </>
      ),
    }
  },
})

/** What was done, by the code in the URL. */
export function webhookDoneText(query: URLSearchParams): string | undefined {
  const code = query.get('done') ?? ''
  return Object.hasOwn(texts.done, code) ? texts.done[code] : undefined
}

const columnsFor = (reader: Reader): Column<Webhook>[] => [
  {
    title: 'URL',
    cell: ({ id, url, description }) => (
      <>
        <a href={pageOfWebhook(id)}>{url}</a>
        {description !== null && <div class="hint">{description}</div>}
      </>
    ),
  },
  { title: 'Types of events', cell: ({ types }) => (types.length === 0 ? 'all types' : types.join(', ')) },
  { title: 'State', isShort: true, cell: (webhook) => <StateBadge {...webhook} /> },
  {
    title: 'Last delivered',
    isShort: true,
    cell: ({ health }) => <Time time={health.lastSuccessAt} reader={reader} />,
  },
  { title: 'Failed since', isNumber: true, cell: ({ health }) => reader.number(health.failures) },
]

/** The state of a webhook, in words. */
export const StateBadge = ({ state }: Pick<Webhook, 'state'>) => (
  <span class={state === 'active' ? 'badge good' : 'badge warn'}>{texts.states[state]}</span>
)

/** The form of a new webhook. The answer shows the secret, which no later page does. */
export const newWebhookPage = (): DealPage => ({
  methods: ['GET', 'POST'],
  path: `${webhookPagesPath}/new`,
  right,
  render: (visit) => (visit.request.method === 'GET' ? showForm(visit) : create(visit)),
})

const showForm = ({ form }: DealVisit, problem?: FormFaults & { readonly status: number }): PageResult => ({
  title: 'New webhook',
  status: problem?.status ?? 200,
  content: (
    <>
      <h1>New webhook</h1>
      <ErrorSummary problem={problem} fields={webhookFields} />
      <WebhookForm action={`${webhookPagesPath}/new`} entries={entriesIn(form)} problem={problem} submit="Create" />
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
export const secretPage = ({ id, url, secret }: DealReply<'POST /rest/v1/webhooks'>) =>
  shownOnce({
    title: 'The secret of the webhook',
    warning: 'This secret is shown once. Receivers verify signatures with it. Copy it now.',
    secrets: [{ label: 'Secret', value: secret }],
    back: { path: pageOfWebhook(id), text: 'To the webhook' },
    children: <p>{url}</p>,
  })
