/** The forms by which an administrator acts on the account of a user. */
import type { Child } from 'hono/jsx'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { ErrorSummary, Field, type FieldParts, fieldErrors } from '../frame/fields.tsx'
import { ProofField, proofLabel } from '../frame/proof.tsx'
import { administration } from '../texts/administration.ts'
import { type User, userPath } from './user-parts.tsx'

const { user: texts } = administration

/** The value of the field `action` of each form. */
export type ActionName = 'grants' | 'enable' | 'disable' | 'log-out' | 'digest' | 'reset' | 'factors' | 'delete'

interface AccountActionsParts {
  readonly user: User
  readonly refused: { readonly action: ActionName; readonly problem: ProblemDocument } | undefined
}

/** All forms but that of the roles and rights, each closed until the reader opens it. */
export function AccountActions({ user, refused }: AccountActionsParts) {
  const common = { user, refused }
  const confirm = { name: 'confirm', label: texts.removeName(user.username), form: 'delete', isRequired: true }
  const state = user.enabled ? 'disable' : 'enable'
  const errors = fieldErrors(refused?.problem)
  return (
    <>
      <Action
        {...common}
        {...{ name: state, title: texts[state], hint: texts[`${state}Hint`], button: texts[state] }}
      />
      <Action {...common} {...{ name: 'log-out', title: texts.logOut, hint: texts.logOutHint, button: texts.logOut }}>
        <Field {...{ name: 'everything', label: texts.everything, kind: 'checkbox', form: 'log-out' }} />
      </Action>
      <Action {...common} {...{ name: 'reset', title: texts.reset, hint: texts.resetHint, button: texts.resetMake }} />
      {(['digest', 'factors'] as const).map((name) => (
        <Action
          {...common}
          {...{ name, title: texts[name], hint: texts[`${name}Hint`], button: texts[`${name}Make`] }}
          fields={[{ name: 'password', label: proofLabel, form: name }]}
        >
          <ProofField form={name} error={refused?.action === name ? errors.password : undefined} />
        </Action>
      ))}
      <Action
        {...common}
        {...{ name: 'delete', title: texts.remove, hint: texts.removeHint, button: texts.removeYes, isDanger: true }}
        fields={[confirm]}
      >
        <Field
          {...confirm}
          error={refused?.action === 'delete' ? errors.confirm : undefined}
          autocomplete="off"
          maxLength={64}
        />
      </Action>
    </>
  )
}

interface ActionParts extends AccountActionsParts {
  readonly name: ActionName
  readonly title: string
  readonly hint: string
  readonly button: string
  readonly isDanger?: boolean
  readonly fields?: readonly Pick<FieldParts, 'name' | 'label' | 'form'>[]
  readonly children?: Child
}

function Action({ user, refused, name, title, hint, button, isDanger, fields, children }: ActionParts) {
  const problem = refused?.action === name ? refused.problem : undefined
  return (
    <details open={problem !== undefined} class="action">
      <summary>{title}</summary>
      <ErrorSummary problem={problem} {...(fields && { fields })} />
      <form method="post" action={userPath(user.username)} class="stack">
        <input type="hidden" name="action" value={name} />
        <p class="hint">{hint}</p>
        {children}
        <button type="submit" class={isDanger || name === 'disable' ? 'danger' : 'quiet'}>
          {button}
        </button>
      </form>
    </details>
  )
}
