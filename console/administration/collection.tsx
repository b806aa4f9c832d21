/**
 * The pages of a collection that administrators look after, such as roles: the list, with `?new` the form for
 * something new, and the page of one thing, with the forms that change it, give it another secret and delete it.
 */
import type { Child } from 'hono/jsx'
import type { Right } from '../../auth-server/principals/rights.ts'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import type { ApiReply } from '../frame/api.ts'
import { atFields } from '../frame/at-fields.ts'
import type { AuthPage, AuthVisit } from '../frame/auth-api.ts'
import type { PageResult, ShownPage } from '../frame/console.tsx'
import { type Column, type Fact, Facts, Notice, Pager, Table } from '../frame/content.tsx'
import { ErrorSummary, Field, type FieldName, fieldErrors } from '../frame/fields.tsx'
import { ProofField, proofLabel } from '../frame/proof.tsx'
import type { Reader } from '../frame/reader.ts'
import { ActionForm } from '../parts/action-form.tsx'
import { type Done, doneAt, doneText } from '../parts/forms.ts'
import { overlapField } from '../parts/overlap.ts'
import { shownOnce } from '../parts/show-once.tsx'
import { creationPage } from './forms.tsx'
import { RemovalForm, removalProblem } from './removal.tsx'
import { refusedIfOld, ShownTag } from './shown-tag.tsx'

/** A thing, with the secret that was made for it: the page that answers the form shows it. */
type Made<Thing> = Thing & { readonly secret?: string | undefined }

/** A form: how it is sent, and the message after that, if no page with a secret says so. */
interface Work<Reply, Thing = undefined> {
  readonly done?: Done
  send(visit: AuthVisit, thing: Thing): Promise<ApiReply<Reply> | Refusal>
}

interface Refusal {
  readonly ok: false
  readonly problem: ProblemDocument
}

/** What the fields of a form show. */
interface Entries<Thing> {
  /** Undefined for a new one. */
  readonly thing: Thing | undefined
  /** What was sent and refused. Undefined for a form that was not sent, or came from an old page. */
  readonly sent: AuthVisit['form'] | undefined
  /** By the name of the field. */
  readonly errors: Readonly<Record<string, string>>
}

/** A collection. */
export interface Collection<Thing extends object> {
  /** Of the list. */
  readonly path: string
  readonly right: Right
  readonly title: string
  readonly hint?: string
  columns(reader: Reader): readonly Column<Thing>[]
  /** `id` is the end of the path of its page, `typed` what the reader types to delete it. */
  namesOf(thing: Thing): { readonly title: string; readonly id: string; readonly typed: string }
  /** What its page says above the forms. */
  factsOf?(thing: Thing, reader: Reader): readonly Fact[]
  list(visit: AuthVisit): Promise<{ readonly items: readonly Thing[]; readonly nextCursor?: string | null }>
  read(visit: AuthVisit, id: string): Promise<Thing>
  readonly create: Work<Made<Thing>> & { readonly title: string }
  /** Left out for things that do not change. */
  readonly change?: Work<Thing, Thing>
  /** Left out for things without secrets. */
  readonly rotate?: Work<Made<Thing>, Thing>
  readonly remove: Work<unknown, Thing> & { readonly title: string; readonly hint: string }
  /** False for a thing without a secret among others. */
  hasSecret?(thing: Thing): boolean
  /** What changes with it, where the API takes no precondition: the page itself refuses a form of an old page then. */
  stateOf?(thing: Thing): object
  /** The fields that errors lead to. */
  readonly labels: readonly FieldName[]
  fields(visit: AuthVisit, entries: Entries<Thing>): Child | Promise<Child>
}

/** The two pages. */
export const collectionPages = <Thing extends object>(collection: Collection<Thing>): readonly AuthPage[] => [
  {
    methods: ['GET', 'POST'],
    path: collection.path,
    right: collection.right,
    render: async (visit) => {
      if (visit.request.method === 'GET')
        return visit.request.query.has('new') ? newThing(collection, visit) : list(collection, visit)
      const reply = await collection.create.send(visit, undefined)
      if (!reply.ok) return newThing(collection, visit, atFields(reply.problem))
      return afterWork(collection, reply.body, collection.create.done)
    },
  },
  {
    methods: ['GET', 'POST'],
    path: `${collection.path}/:id`,
    right: collection.right,
    render: async (visit) => {
      const thing = await collection.read(visit, visit.request.pathParameters.id ?? '')
      // Only forms have an action.
      const action = actions.find((name) => name === visit.form.get('action'))
      return action ? act(collection, { visit, thing, action }) : shownThing(collection, { visit, thing })
    },
  },
]

async function list<Thing extends object>(collection: Collection<Thing>, visit: AuthVisit): Promise<ShownPage> {
  const { path, title, hint, create } = collection
  const { request, reader } = visit
  const { items, nextCursor = null } = await collection.list(visit)
  return {
    title,
    content: (
      <>
        <div class="head">
          <h1>{title}</h1>
          <a class="button" href={`${path}?new=yes`}>
            {create.title}
          </a>
        </div>
        <Notice>{doneText(request)}</Notice>
        {hint !== undefined && <p class="hint">{hint}</p>}
        <Table caption={title} columns={collection.columns(reader)} rows={items} />
        <Pager path={path} query={request.query} nextCursor={nextCursor} />
      </>
    ),
  }
}

async function newThing<Thing extends object>(
  collection: Collection<Thing>,
  visit: AuthVisit,
  problem?: ProblemDocument,
): Promise<ShownPage> {
  const { path, create, labels } = collection
  const entries = { thing: undefined, sent: problem && visit.form, errors: fieldErrors(problem) }
  const fields = await collection.fields(visit, entries)
  return creationPage({ title: create.title, list: path, fields: labels }, problem, fields)
}

const pathOf = <Thing extends object>({ path, namesOf }: Collection<Thing>, thing: Thing): string =>
  `${path}/${encodeURIComponent(namesOf(thing).id)}`

/** The page that shows the new secret; where there is none, the page of the thing. */
function afterWork<Thing extends object>(
  collection: Collection<Thing>,
  thing: Made<Thing>,
  done: Done | undefined,
): PageResult {
  const path = pathOf(collection, thing)
  if (thing.secret === undefined) return doneAt(path, done)
  const { title, id } = collection.namesOf(thing)
  return shownOnce({
    title: `The secret of ${title}`,
    secrets: [{ label: 'Secret', value: thing.secret }],
    back: { path, text: `Go on to ${title}` },
    children: <Facts facts={[['Id', <code>{id}</code>]]} />,
  })
}

const actions = ['change', 'rotate', 'delete'] as const

interface Refused {
  readonly action: (typeof actions)[number]
  readonly problem: ProblemDocument
}

interface Visited<Thing> {
  readonly visit: AuthVisit
  readonly thing: Thing
}

/** Does what a form of the page asks for, or shows the page with the refusal. */
async function act<Thing extends object>(
  collection: Collection<Thing>,
  { visit, thing, action }: Visited<Thing> & Pick<Refused, 'action'>,
): Promise<PageResult> {
  const { path, remove, namesOf } = collection
  const refused = ({ problem }: Refusal) =>
    shownThing(collection, { visit, thing, refused: { action, problem: atFields(problem) } })
  const old =
    collection.stateOf && action !== 'rotate' ? refusedIfOld(visit.form, collection.stateOf(thing)) : undefined
  if (action === 'delete') {
    const reply = removalProblem(visit.form, namesOf(thing).typed) ?? old ?? (await remove.send(visit, thing))
    return reply.ok ? doneAt(path, remove.done) : refused(reply)
  }
  const work = collection[action]
  if (!work) return shownThing(collection, { visit, thing })
  const reply = old ?? (await work.send(visit, thing))
  return reply.ok ? afterWork(collection, reply.body, work.done) : refused(reply)
}

async function shownThing<Thing extends object>(
  collection: Collection<Thing>,
  { visit, thing, refused }: Visited<Thing> & { readonly refused?: Refused },
): Promise<ShownPage> {
  const { title, typed } = collection.namesOf(thing)
  const path = pathOf(collection, thing)
  const shown = collection.stateOf?.(thing) ?? thing
  const problemOf = (action: Refused['action']) => (refused?.action === action ? refused.problem : undefined)
  const change = problemOf('change')
  // When somebody else has changed the thing, the fields show what it is now.
  const sent = change && change.code !== 'precondition-failed' ? visit.form : undefined
  return {
    title,
    status: refused?.problem.status ?? 200,
    content: (
      <>
        <div class="head">
          <h1>{title}</h1>
          <a href={collection.path}>{collection.title}</a>
        </div>
        <Notice>{doneText(visit.request)}</Notice>
        {collection.factsOf && (
          <section class="panel">
            <Facts facts={collection.factsOf(thing, visit.reader)} />
          </section>
        )}
        {collection.change && (
          <section class="panel form">
            <ErrorSummary problem={change} fields={collection.labels} />
            <form method="post" action={path} class="stack">
              <input type="hidden" name="action" value="change" />
              <ShownTag of={shown} />
              {await collection.fields(visit, { thing, sent, errors: fieldErrors(change) })}
              <button type="submit">Save</button>
            </form>
          </section>
        )}
        {collection.rotate && collection.hasSecret?.(thing) !== false && (
          <RotationForm path={path} form={visit.form} problem={problemOf('rotate')} />
        )}
        <RemovalForm name={typed} path={path} texts={collection.remove} shown={shown} problem={problemOf('delete')} />
      </>
    ),
  }
}

interface RotationProps {
  readonly path: string
  readonly form: AuthVisit['form']
  readonly problem: ProblemDocument | undefined
}

function RotationForm({ path, form, problem }: RotationProps) {
  const [overlap, password] = [overlapField(form), { name: 'password', label: proofLabel, form: 'rotate' }]
  return (
    <ActionForm
      name="rotate"
      path={path}
      title="Give it a new secret"
      hint="The id stays. The former secret works for a while, so that the program can change over."
      button="Make a new secret"
      problem={problem}
      fields={[overlap, password]}
    >
      <Field {...overlap} />
      <ProofField form="rotate" error={fieldErrors(problem).password} />
    </ActionForm>
  )
}
