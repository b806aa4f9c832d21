/** The forms by which an administrator acts on the account of a user. */
import type { Child } from 'hono/jsx'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { ErrorSummary, Field, type FieldParts, fieldErrors } from '../frame/fields.tsx'
import { ProofField, proofLabel } from '../frame/proof.tsx'
import { administration } from '../texts/administration.ts'
import { RemovalForm } from './removal.tsx'
import { ShownTag } from './shown-tag.tsx'
import { type User, userPath } from './user-parts.tsx'

const { user: texts } = administration

/** The value of the field `action` of each form. */
export type ActionName =
  | 'grants'
  | 'enable'
  | 'disable'
  | 'unlock'
  | 'log-out'
  | 'digest'
  | 'reset'
  | 'factors'
  | 'delete'

interface ActionOf {
  readonly user: User
  readonly refused: { readonly action: ActionName; readonly problem: ProblemDocument } | undefined
}

interface AccountActionsParts extends ActionOf {
  readonly isLocked: boolean
}

/** All forms but that of the roles and rights, each closed until the reader opens it. */
export function AccountActions({ user, refused, isLocked }: AccountActionsParts) {
  const of = { user, refused }
  return (
    <>
      {user.enabled ? (
        <Action {...of} name="disable" title={texts.disable} hint={texts.disableHint} button={texts.disable} />
      ) : (
        <Action {...of} name="enable" title={texts.enable} hint={texts.enableHint} button={texts.enable}>
          <ShownTag of={user} />
        </Action>
      )}
      {isLocked && <Action {...of} name="unlock" title={texts.unlock} hint={texts.unlockHint} button={texts.unlock} />}
      <Action {...of} name="log-out" title={texts.logOut} hint={texts.logOutHint} button={texts.logOut}>
        <Field name="everything" label={texts.everything} kind="checkbox" form="log-out" />
      </Action>
      <Action {...of} name="reset" title={texts.reset} hint={texts.resetHint} button={texts.resetMake} />
      <ProvedAction {...of} name="digest" title={texts.digest} hint={texts.digestHint} button={texts.digestMake} />
      <ProvedAction {...of} name="factors" title={texts.factors} hint={texts.factorsHint} button={texts.factorsMake} />
      <RemovalForm
        name={user.username}
        path={userPath(user.username)}
        texts={{ title: texts.remove, hint: texts.removeHint }}
        shown={user}
        problem={refused?.action === 'delete' ? refused.problem : undefined}
      />
    </>
  )
}

/** An action that needs the password, or a login of the last five minutes. */
function ProvedAction(parts: ActionParts) {
  const { name, refused } = parts
  const error = refused?.action === name ? fieldErrors(refused.problem).password : undefined
  return (
    <Action {...parts} fields={[{ name: 'password', label: proofLabel, form: name }]}>
      <ProofField form={name} error={error} />
    </Action>
  )
}

interface ActionParts extends ActionOf {
  readonly name: ActionName
  readonly title: string
  readonly hint: string
  readonly button: string
  readonly fields?: readonly Pick<FieldParts, 'name' | 'label' | 'form'>[]
  readonly children?: Child
}

function Action({ user, refused, name, title, hint, button, fields, children }: ActionParts) {
  const problem = refused?.action === name ? refused.problem : undefined
  return (
    <details open={problem !== undefined} class="action">
      <summary>{title}</summary>
      <ErrorSummary problem={problem} {...(fields && { fields })} />
      <form method="post" action={userPath(user.username)} class="stack">
        <input type="hidden" name="action" value={name} />
        <p class="hint">{hint}</p>
        {children}
        <button type="submit" class={name === 'disable' ? 'danger' : 'quiet'}>
          {button}
        </button>
      </form>
    </details>
  )
}
