/** `/console/webhooks/:id`: a webhook, how its deliveries go, and what can be done with it. */

import type { ApiReply } from '../frame/api.ts'
import { atFields } from '../frame/at-fields.ts'
import type { PageResult } from '../frame/console.tsx'
import { Notice } from '../frame/content.tsx'
import { type DealPage, type DealVisit, EnteredParameters } from '../frame/deal-api.ts'
import { ErrorSummary, Field, type FieldProps, type FormFaults, fieldErrors } from '../frame/fields.tsx'
import { ProofField, proofLabel } from '../frame/proof.tsx'
import { StateBadge, secretPage, webhookDoneText } from './list-page.tsx'
import { pageOfWebhook, type Webhook, webhookPagesPath } from './shapes.ts'
import { bodyOf, entriesIn, passwordIn, WebhookForm, webhookFields } from './webhook-form.tsx'
import { Deliveries, WebhookFacts } from './webhook-parts.tsx'

const right = 'webhook.manage'

/** The page of a webhook. */
export const webhookPage = (): DealPage => ({
  methods: ['GET'],
  path: `${webhookPagesPath}/:id`,
  right,
  render: (visit) => show(visit),
})

interface Refused {
  readonly problem: FormFaults & { readonly status: number }
  /** The form at fault. */
  readonly form: 'change' | 'redeliver' | 'state' | 'other'
}

/** The fields that errors lead to. */
const fieldsOf = (refused: Refused | undefined): FieldProps[] =>
  refused?.form === 'state'
    ? [{ name: 'password', label: proofLabel, form: 'state' }]
    : [...webhookFields, { name: 'after', label: 'Position' }]

const pathIn = ({ request }: DealVisit) => ({ id: request.pathParameters.id ?? '' })

async function show(visit: DealVisit, refused?: Refused): Promise<PageResult> {
  const { api, request, reader, form } = visit
  const path = pathIn(visit)
  const [webhook, { items }] = await Promise.all([
    api.get('GET /rest/v1/webhooks/:id', { path }),
    api.get('GET /rest/v1/webhooks/:id/deliveries', { path, query: { limit: 50 } }),
  ])
  const stored = { ...webhook, description: webhook.description ?? '' }
  const ofChange = refused?.form === 'change' ? refused.problem : undefined
  const ofRedelivery = refused?.form === 'redeliver' ? refused.problem : undefined
  return {
    title: 'Webhooks',
    status: refused?.problem.status ?? 200,
    content: (
      <>
        <p>
          <a href={webhookPagesPath}>All webhooks</a>
        </p>
        <div class="head">
          <h1>{webhook.url}</h1>
          <StateBadge {...webhook} />
        </div>
        <Done query={request.query} />
        <ErrorSummary problem={refused?.problem} fields={fieldsOf(refused)} />
        <div class="columns">
          <div>
            <section class="panel">
              <WebhookFacts webhook={webhook} reader={reader} />
              <Actions webhook={webhook} problem={refused?.form === 'state' ? refused.problem : undefined} />
            </section>
            <section>
              <h2>Deliveries</h2>
              <Deliveries attempts={items} reader={reader} />
            </section>
          </div>
          <div>
            <h2>Change</h2>
            <WebhookForm
              action={`${pageOfWebhook(webhook.id)}/change`}
              submit="Save"
              problem={ofChange}
              entries={ofChange ? entriesIn(form) : stored}
            />
            <Redelivery webhook={webhook} problem={ofRedelivery} after={form.get('after')} />
          </div>
        </div>
      </>
    ),
  }
}

/** A test event that was not taken is no success. */
const Done = ({ query }: { readonly query: URLSearchParams }) =>
  query.get('done') === 'test-failed' ? (
    <p class="warning" role="status">
      {webhookDoneText(query)}
    </p>
  ) : (
    <Notice>{webhookDoneText(query)}</Notice>
  )

interface ActionProps {
  readonly webhook: Webhook
  readonly problem: FormFaults | undefined
}

function Actions({ webhook: { id, state }, problem }: ActionProps) {
  const path = pageOfWebhook(id)
  const isActive = state === 'active'
  return (
    <div class="actions">
      <form method="post" action={`${path}/state`}>
        <input type="hidden" name="state" value={isActive ? 'paused' : 'active'} />
        {problem && <ProofField form="state" error={fieldErrors(problem).password} />}
        <button type="submit" class="quiet">
          {isActive ? 'Pause' : 'Resume'}
        </button>
      </form>
      <form method="post" action={`${path}/test`}>
        <button type="submit" class="quiet">
          Send a test event
        </button>
      </form>
      <form method="post" action={`${path}/rotate`}>
        <button
          type="submit"
          class="quiet"
          data-confirm="Replace the secret? The new one is shown once; the former one signs too for 24 hours."
        >
          Replace the secret
        </button>
      </form>
      <a class="button danger" href={`${path}/delete`}>
        Delete
      </a>
    </div>
  )
}

interface RedeliveryProps {
  readonly webhook: Webhook
  readonly problem: FormFaults | undefined
  readonly after: string | undefined
}

const Redelivery = ({ webhook, problem, after = '' }: RedeliveryProps) => (
  <section>
    <h2>Send events once more</h2>
    <form method="post" action={`${pageOfWebhook(webhook.id)}/redeliver`} class="panel stack">
      <Field
        name="after"
        label="Position"
        value={after}
        isRequired
        maxLength={64}
        hint="All events after this position are sent again, with the same ids. 0 is the beginning."
        error={fieldErrors(problem).after}
      />
      <button type="submit" class="quiet">
        Send once more
      </button>
    </form>
  </section>
)

/** A form of the page: it calls a route, and leads back to the page. */
const formOf = (
  name: string,
  work: (visit: DealVisit) => Promise<{ reply: ApiReply<unknown>; done: string; form: Refused['form'] }>,
): DealPage => ({
  methods: ['GET', 'POST'],
  path: `${webhookPagesPath}/:id/${name}`,
  right,
  render: async (visit) => {
    const page = pageOfWebhook(pathIn(visit).id)
    if (visit.request.method === 'GET') return { redirect: page }
    const { reply, done, form } = await work(visit)
    return reply.ok ? { redirect: `${page}?done=${done}` } : show(visit, { problem: atFields(reply.problem), form })
  },
})

const patch = (visit: DealVisit, change: ReturnType<typeof bodyOf> | { readonly state: string | undefined }) => {
  const body = new EnteredParameters({ ...change, password: passwordIn(visit.form) })
  return visit.api.call('PATCH /rest/v1/webhooks/:id', { path: pathIn(visit), body })
}

/** The forms of the page. */
export const webhookForms = (): readonly DealPage[] => [
  formOf('change', async (visit) => ({
    reply: await patch(visit, bodyOf(entriesIn(visit.form))),
    done: 'changed',
    form: 'change',
  })),
  formOf('state', async (visit) => {
    const state = visit.form.get('state')
    return { reply: await patch(visit, { state }), done: state === 'paused' ? 'paused' : 'resumed', form: 'state' }
  }),
  formOf('test', async (visit) => {
    const reply = await visit.api.call('POST /rest/v1/webhooks/:id/test', { path: pathIn(visit) })
    return { reply, done: reply.ok ? `test-${reply.body.outcome}` : '', form: 'other' }
  }),
  formOf('redeliver', async (visit) => {
    const body = { after: (visit.form.get('after') ?? '').trim() }
    const reply = await visit.api.call('POST /rest/v1/webhooks/:id/redeliver', { path: pathIn(visit), body })
    return { reply, done: 'redelivered', form: 'redeliver' }
  }),
  {
    methods: ['GET', 'POST'],
    path: `${webhookPagesPath}/:id/rotate`,
    right,
    render: async (visit) => {
      const path = pathIn(visit)
      if (visit.request.method === 'GET') return { redirect: pageOfWebhook(path.id) }
      const reply = await visit.api.call('POST /rest/v1/webhooks/:id/rotate-secret', { path })
      return reply.ok ? secretPage(reply.body) : show(visit, { problem: reply.problem, form: 'other' })
    },
  },
]

/** The question before a webhook is deleted. */
export const deletePage = (): DealPage => ({
  methods: ['GET', 'POST'],
  path: `${webhookPagesPath}/:id/delete`,
  right,
  render: async (visit) => {
    const path = pathIn(visit)
    if (visit.request.method === 'POST') {
      const reply = await visit.api.call('DELETE /rest/v1/webhooks/:id', { path })
      return reply.ok
        ? { redirect: `${webhookPagesPath}?done=deleted` }
        : show(visit, { problem: reply.problem, form: 'other' })
    }
    const { id, url } = await visit.api.get('GET /rest/v1/webhooks/:id', { path })
    return {
      title: 'Delete the webhook?',
      content: (
        <>
          <h1>Delete the webhook?</h1>
          <p>
            <strong>{url}</strong>
          </p>
          <p>Nothing more is sent. This cannot be undone.</p>
          <form method="post" action={`${pageOfWebhook(id)}/delete`} class="actions">
            <button type="submit" class="danger">
              Delete the webhook
            </button>
            <a class="button quiet" href={pageOfWebhook(id)}>
              Keep it
            </a>
          </form>
        </>
      ),
    }
  },
})
