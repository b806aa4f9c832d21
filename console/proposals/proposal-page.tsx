/** `/console/proposals/:id`: what is proposed, what would change, and the decision. */
import { createDeal } from '../../deal-server/use-cases/create-deal.ts'
import { commandNamed } from '../../deal-server/use-cases/index.ts'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { unchanged } from '../administration/shown-tag.tsx'
import { fieldPartsOf, titleOfUseCase } from '../deal-forms/command-form.tsx'
import { type DealView, findDeal, isDay } from '../deal-forms/deal-view.ts'
import { faultsOf } from '../deal-forms/faults.ts'
import { type ComparedFact, compareFacts, snapshotOf } from '../deal-forms/snapshot.ts'
import { type ApiReply, RefusedCall } from '../frame/api.ts'
import type { PageResult } from '../frame/console.tsx'
import { type Column, type Fact, Facts, Table, Time } from '../frame/content.tsx'
import type { DealPage, DealReply, DealVisit } from '../frame/deal-api.ts'
import { ErrorSummary, Field, fieldErrors } from '../frame/fields.tsx'
import type { Reader } from '../frame/reader.ts'
import { ActionForm } from '../parts/action-form.tsx'
import { pathOfDeal } from '../parts/deal-parts.tsx'
import { labels } from '../texts/deal.ts'
import { proposalTexts as texts } from '../texts/proposals.ts'
import { type Proposal, pageOfProposal, proposalPagesPath, proposerOf } from './list-page.tsx'

type Trial = ApiReply<DealReply<'POST /proposals/:id/approve'>>

interface Shown {
  readonly proposal: Proposal
  /** Undefined for a new deal, and for one that the reader does not see. */
  readonly deal: DealView | undefined
  /** What an approval would do now; undefined for what the reader cannot approve. */
  readonly trial: Trial | undefined
  readonly reader: Reader
}

const pathIn = ({ request }: DealVisit) => ({ id: request.pathParameters.id ?? '' })

/** The page, and its forms. */
export const proposalPage = (): DealPage => ({
  methods: ['GET', 'POST'],
  path: `${proposalPagesPath}/:id`,
  render: (visit) => (visit.request.method === 'POST' ? decide(visit) : show(visit)),
})

async function decide(visit: DealVisit): Promise<PageResult> {
  const { api, form } = visit
  const path = pathIn(visit)
  const reply =
    form.get('action') === 'approve'
      ? await api.call('POST /proposals/:id/approve', { path, headers: unchanged(form) })
      : await api.call('POST /proposals/:id/reject', { path, body: { reason: form.get('reason') ?? '' } })
  // The decision may have taken the deal, and the proposal with it, out of the reader's sight.
  if (reply.ok) return { redirect: `${proposalPagesPath}?done=${reply.body.state}` }
  return show(visit, faultsOf(reply.problem))
}

async function show(visit: DealVisit, problem?: ProblemDocument): Promise<PageResult> {
  const { api, caller, reader } = visit
  const path = pathIn(visit)
  const read = await api.call('GET /proposals/:id', { path })
  if (!read.ok) throw new RefusedCall(read)
  const { body: proposal } = read
  const { state, useCase } = proposal
  const found = proposal.deal === null ? undefined : await findDeal(api, proposal.deal)
  const isOwn = proposal.proposedBy === caller.username
  const etag = String(read.headers.etag)
  // A dry run changes nothing: a link of another site may lead to the page.
  const headers = { 'if-match': etag, 'sec-fetch-site': 'same-origin' }
  const asked = { path, query: { validateOnly: true }, headers }
  const trial = state === 'open' && !isOwn ? await api.call('POST /proposals/:id/approve', asked) : undefined
  const parts = { proposal, deal: found?.ok ? found.body : undefined, trial, reader }
  // Who lacks the right of the command decides nothing.
  const mayReject = state === 'open' && trial?.status !== 403
  const ofReason = mayReject && problem?.errors ? problem : undefined
  return {
    title: titleOfUseCase(useCase),
    status: problem?.status ?? 200,
    content: (
      <div class="form-page">
        <p class="crumb">
          <a href={proposalPagesPath}>All proposals</a>
        </p>
        <div class="head titled">
          <h1>{titleOfUseCase(useCase)}</h1>
          <span class={`badge ${texts.looks[state]}`}>{state}</span>
        </div>
        {!ofReason && <ErrorSummary problem={problem} />}
        {proposal.hasChanged && <p class="warning">{texts.hasChanged}</p>}
        <section class="panel">
          <Facts facts={factsOf(parts)} />
        </section>
        {trial && <Outcome {...parts} trial={trial} />}
        {trial?.ok && <ApproveForm path={pageOfProposal(path.id)} etag={etag} />}
        {mayReject && (
          <ActionForm
            name="reject"
            path={pageOfProposal(path.id)}
            title={isOwn ? 'Take back' : 'Reject'}
            hint="The command never runs. The application learns the reason."
            button={isOwn ? 'Take back' : 'Reject'}
            isDangerous
            problem={ofReason}
            fields={[reasonField]}
          >
            <Field {...reasonField} value={visit.form.get('reason')} error={fieldErrors(ofReason).reason} />
          </ActionForm>
        )}
      </div>
    ),
  }
}

const reasonField = { name: 'reason', label: 'Reason', kind: 'textarea', isRequired: true, maxLength: 1000 } as const

const ApproveForm = ({ path, etag }: { readonly path: string; readonly etag: string }) => (
  <form method="post" action={path} class="stack">
    <input type="hidden" name="action" value="approve" />
    <input type="hidden" name="etag" value={etag} />
    <p class="hint">The command runs in your name.</p>
    <button type="submit">Approve</button>
  </form>
)

function factsOf({ proposal, deal, trial, reader }: Shown): readonly Fact[] {
  const { proposedAt, expiresAt, decision } = proposal
  const time = (value: string) => <Time time={value} reader={reader} />
  const lines = (text: string) => <span class="lines">{text}</span>
  return [
    ...parametersOf({ proposal, deal, trial, reader }).map(([label, text]): Fact => [label, text && lines(text)]),
    ['Deal', deal ? <a href={pathOfDeal(deal.id)}>{deal.name}</a> : proposal.deal],
    ['Proposed by', proposerOf(proposal)],
    ['Proposed', time(proposedAt)],
    ['Expires', decision ? null : time(expiresAt)],
    ['Decided by', decision?.by],
    ['Decided', decision && time(decision.at)],
    ['Reason of the decision', decision?.reason && lines(decision.reason)],
  ]
}

/** Label and text of each parameter. */
function parametersOf({ proposal, deal, trial, reader }: Shown): readonly [label: string, text: string][] {
  const { useCase, params } = proposal
  const entries = Object.entries(params).map(([name, value]): [string, string] => [name, textOf(value)])
  const command = commandNamed(useCase)
  // An update of attributes sends all of them, and changes some.
  if (!command) return entries.map(([name, text]) => [labels[name] ?? '', labels[name] === undefined ? '' : text])
  const currency = (deal ?? (trial?.ok ? trial.body.result : undefined))?.currency
  const tasks = (deal?.tasks ?? []).map(({ id, title }) => ({ value: id, text: title }))
  const fields = fieldPartsOf({ command, values: new Map(entries), tasks })
  return fields.map(({ label, value = '', kind, inputMode, options = [] }) => {
    if (inputMode === 'decimal' && currency && /^\d/.test(value)) return [label, reader.money(value, currency)]
    const text = options.find((option) => option.value === value)?.text ?? value
    return [label, value !== '' && kind === 'date' && isDay(text) ? reader.date(text) : text]
  })
}

const textOf = (value: unknown): string =>
  value === null ? '–' : typeof value === 'object' ? JSON.stringify(value) : String(value)

/** What an approval would change, or why it is not possible. */
function Outcome({ proposal, deal, trial, reader }: Shown & { readonly trial: Trial }) {
  const { params, useCase } = proposal
  const command = commandNamed(useCase)
  const after = trial.ok ? trial.body.result : null
  const taskId = typeof params.taskId === 'string' ? params.taskId : ''
  const seen = deal ? snapshotOf(deal, taskId) : '{}'
  const form = new Map([['taskId', taskId]])
  const rows = after ? compareFacts({ command: command ?? createDeal, form, seen, deal: after, reader }) : []
  return (
    <section class="panel">
      <h2>What would change</h2>
      {!trial.ok && <p class="warning">{faultsOf(trial.problem).detail}</p>}
      {trial.ok && !after && <p>{command?.words.hint}</p>}
      {after && (
        <Table
          caption="What would change"
          columns={columns}
          rows={rows.filter(({ isChanged }) => isChanged)}
          empty="Nothing would change."
        />
      )}
    </section>
  )
}

const columns: Column<ComparedFact>[] = [
  { title: 'Fact', cell: ({ label }) => label },
  { title: 'The deal as it is now', cell: ({ seen }) => seen },
  { title: 'After an approval', cell: ({ now }) => <strong>{now}</strong> },
]
