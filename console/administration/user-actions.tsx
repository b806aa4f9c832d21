/** The forms by which an administrator acts on the account of a user. */
import type { Child } from 'hono/jsx'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { Field, type FieldName, fieldErrors } from '../frame/fields.tsx'
import { ProofField, proofLabel } from '../frame/proof.tsx'
import { ActionForm } from '../parts/action-form.tsx'
import { RemovalForm } from './removal.tsx'
import { ShownTag } from './shown-tag.tsx'
import { type User, userPath } from './user-parts.tsx'

/** The values of the field `action`, one for each form. */
export const actions = [
  ...(['grants', 'profile', 'enable', 'disable', 'unlock', 'log-out'] as const),
  ...(['digest', 'reset', 'factors', 'delete'] as const),
] as const

/** One of them. */
export type ActionName = (typeof actions)[number]

interface ActionOf {
  readonly user: User
  readonly refused: { readonly action: ActionName; readonly problem: ProblemDocument } | undefined
}

interface AccountActionsProps extends ActionOf {
  readonly isLocked: boolean
}

/** All forms but that of the roles and rights, each closed until the reader opens it. */
export function AccountActions({ user, refused, isLocked }: AccountActionsProps) {
  const of = { user, refused }
  return (
    <>
      {user.enabled ? (
        <Action
          {...of}
          name="disable"
          title="Disable"
          hint="No credential of a disabled user works. Nothing is lost: enable the user again later."
          button="Disable"
        />
      ) : (
        <Action
          {...of}
          name="enable"
          title="Enable"
          hint="The user can sign in again, and API keys work again."
          button="Enable"
        >
          <ShownTag of={user} />
        </Action>
      )}
      {isLocked && (
        <Action
          {...of}
          name="unlock"
          title="Unlock"
          hint="Too many attempts with a wrong secret failed. The user can try again at once; sessions go on."
          button="Unlock"
        />
      )}
      <Action
        {...of}
        name="log-out"
        title="Log out everywhere"
        hint="Sessions, logins and tokens of the user end within a second."
        button="Log out everywhere"
      >
        <Field name="everything" label="API keys and the Digest secret too" kind="checkbox" form="log-out" />
      </Action>
      <Action
        {...of}
        name="reset"
        title="One-time link for a forgotten password"
        hint="Give the link to the user in person or by a way that you trust. The user chooses a new password with it."
        button="Make a link"
      />
      <ProvedAction
        {...of}
        name="digest"
        title="Digest secret"
        hint="A new secret for HTTP Digest. The one before no longer works."
        button="Make a new Digest secret"
      />
      <ProvedAction
        {...of}
        name="factors"
        title="Second factors"
        hint="For a user who has lost them all. The next sign-in needs the password alone, or sets up a new one."
        button="Remove all second factors"
      />
      <RemovalForm
        name={user.username}
        path={userPath(user.username)}
        texts={{
          title: 'Delete the user',
          hint: 'All credentials of the user end, and the name is free again. This is for ever.',
        }}
        shown={user}
        problem={refused?.action === 'delete' ? refused.problem : undefined}
      />
    </>
  )
}

/** An action that needs the password, or a login of the last five minutes. */
function ProvedAction(parts: ActionProps) {
  const { name, refused } = parts
  const error = refused?.action === name ? fieldErrors(refused.problem).password : undefined
  return (
    <Action {...parts} fields={[{ name: 'password', label: proofLabel, form: name }]}>
      <ProofField form={name} error={error} />
    </Action>
  )
}

interface ActionProps extends ActionOf {
  readonly name: ActionName
  readonly title: string
  readonly hint: string
  readonly button: string
  readonly fields?: readonly FieldName[]
  readonly children?: Child
}

function Action({ user, refused, ...parts }: ActionProps) {
  const problem = refused?.action === parts.name ? refused.problem : undefined
  return (
    <ActionForm {...parts} path={userPath(user.username)} problem={problem} isDangerous={parts.name === 'disable'} />
  )
}
