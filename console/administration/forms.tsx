/** The page that holds the form for something new. */
import type { Child } from 'hono/jsx'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import type { ShownPage } from '../frame/console.tsx'
import { ErrorSummary, type FieldName } from '../frame/fields.tsx'

interface FormPageProps {
  readonly title: string
  /** Of the list, where the form for something new is sent too. */
  readonly list: string
  /** What errors lead to. */
  readonly fields: readonly FieldName[]
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
