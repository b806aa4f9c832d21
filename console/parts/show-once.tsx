/** Pages that show a secret once, as the answer to the form that made it. No address has the secret. */
import type { Child } from 'hono/jsx'
import type { ShownPage } from '../frame/console.tsx'
import { Secret, secretScripts } from '../frame/secret.tsx'

interface ShownOnceProps {
  readonly title: string
  /** What is shown once. */
  readonly warning?: string
  readonly secrets: readonly { readonly label: string; readonly value: string; readonly fileName?: string }[]
  readonly back: { readonly path: string; readonly text: string }
  readonly children?: Child
}

/** The page. It replaces the form. */
export function shownOnce({
  title,
  warning = 'This is shown only now. Keep it in a safe place: it cannot be shown again.',
  secrets,
  back,
  children,
}: ShownOnceProps): ShownPage {
  return {
    title,
    scripts: secretScripts,
    content: (
      <>
        <h1>{title}</h1>
        {secrets.length > 0 && (
          <p class="warning" role="status">
            {warning}
          </p>
        )}
        <section class="panel stack">
          {children}
          {secrets.map((secret, index) => (
            <Secret id={`secret-${index}`} {...secret} />
          ))}
        </section>
        <p>
          <a href={back.path}>{back.text}</a>
        </p>
      </>
    ),
  }
}
