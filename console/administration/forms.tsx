/** The pages that hold one form: for something new, and for one thing that can be changed and deleted. */
import type { Child } from 'hono/jsx'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import type { AuthVisit } from '../frame/auth-api.ts'
import type { ShownPage } from '../frame/console.tsx'
import { Notice } from '../frame/content.tsx'
import { ErrorSummary, type FieldProps } from '../frame/fields.tsx'
import { doneText } from '../parts/forms.ts'
import { RemovalForm } from './removal.tsx'
import { ShownTag } from './shown-tag.tsx'

interface FormPageProps {
  readonly title: string
  /** Of the list, where the form for something new is sent too. */
  readonly list: string
  /** What errors lead to. */
  readonly fields: readonly Pick<FieldProps, 'name' | 'label' | 'form'>[]
}

/** The form for something new. `children` are its fields. */
export const creationPage = (
  { title, list, fields }: FormPageProps,
  problem: ProblemDocument | undefined,
  children: Child,
): ShownPage => ({
  title,
  status: problem?.status ?? 200,
  content: (
    <section class="panel form">
      <h1>{title}</h1>
      <ErrorSummary problem={problem} fields={fields} />
      <form method="post" action={list} class="stack" autocomplete="off">
        {children}
        <p class="actions">
          <button type="submit">{title}</button>
          <a href={list}>Cancel</a>
        </p>
      </form>
    </section>
  ),
})

/** A form that was refused, by its action. */
export interface Refused {
  readonly action: 'change' | 'delete'
  readonly problem: ProblemDocument
}

/** The problem of the form that changes; undefined when that form was not sent. */
export const problemOfChange = (refused: Refused | undefined): ProblemDocument | undefined =>
  refused?.action === 'change' ? refused.problem : undefined

interface OneProps extends FormPageProps {
  /** What the reader types to delete it. */
  readonly name: string
  /** What the list is called. */
  readonly listTitle: string
  readonly removal: { readonly title: string; readonly hint: string }
  /** What the page shows, as the API gave it. */
  readonly shown: object
}

/** One thing, with the form that changes it, whose fields are `children`, and the form that deletes it. */
export function changePage(
  { title, list, fields, listTitle, name, removal, shown }: OneProps,
  { request, refused }: { readonly request: AuthVisit['request']; readonly refused: Refused | undefined },
  children: Child,
): ShownPage {
  const path = `${list}/${encodeURIComponent(name)}`
  return {
    title,
    status: refused?.problem.status ?? 200,
    content: (
      <>
        <div class="head">
          <h1>{title}</h1>
          <a href={list}>{listTitle}</a>
        </div>
        <Notice>{doneText(request)}</Notice>
        <section class="panel form">
          <ErrorSummary problem={problemOfChange(refused)} fields={fields} />
          <form method="post" action={path} class="stack">
            <input type="hidden" name="action" value="change" />
            <ShownTag of={shown} />
            {children}
            <button type="submit">Save</button>
          </form>
        </section>
        <RemovalForm
          name={name}
          path={path}
          texts={removal}
          shown={shown}
          problem={refused?.action === 'delete' ? refused.problem : undefined}
        />
      </>
    ),
  }
}
