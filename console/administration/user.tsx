/** The page of one user, with all that an administrator can do to the account. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { digestShown } from '../account/tokens.tsx'
import { atFields } from '../frame/at-fields.ts'
import type { AuthPage, AuthRoutes, AuthVisit } from '../frame/auth-api.ts'
import type { PageResult, ShownPage } from '../frame/console.tsx'
import { Facts, Time } from '../frame/content.tsx'
import { ErrorSummary, fieldErrors } from '../frame/fields.tsx'
import { type Done, doneAt, fieldTextOf } from '../parts/forms.ts'
import { chosenRights } from '../parts/rights.tsx'
import { shownOnce } from '../parts/show-once.tsx'
import { chosenRoles, GrantFields, ProfileFields, profileFields, sentProfile } from './new-user.tsx'
import { removalProblem } from './removal.tsx'
import { ShownTag, unchanged } from './shown-tag.tsx'
import { AccountActions, type ActionName, actions } from './user-actions.tsx'
import { UserFrame } from './user-frame.tsx'
import { rolesOf, type User, userPath, usersPath, usersRight } from './user-parts.tsx'

/** `/account/users/:username`. */
export const userPage = (): AuthPage => ({
  methods: ['GET', 'POST'],
  path: `${usersPath}/:username`,
  right: usersRight,
  render: async (visit) => {
    const { request, api, form } = visit
    const path = { username: request.pathParameters.username ?? '' }
    const user = await api.get('GET /users/:username', { path })
    // Only forms have an action.
    const action = actions.find((name) => name === form.get('action'))
    const result = action && (await work[action](visit, user))
    if (!result || !('problem' in result)) return result ?? shownUser(visit, user)
    return shownUser(visit, user, action && { action, problem: atFields(result.problem) })
  },
})

interface Refused {
  readonly action: ActionName
  readonly problem: ProblemDocument
}

/** Does what a form asks for. A refusal is shown on the page of the user. */
type Work = (visit: AuthVisit, user: User) => Promise<PageResult | Pick<Refused, 'problem'>>

/** Changes a part of the user. An old page can disable and no more: that takes every right away. */
const patch =
  (
    done: Done,
    change: (form: ReadonlyMap<string, string>, user: User) => AuthRoutes['PATCH /users/:username']['body'],
  ): Work =>
  async ({ api, form }, user) => {
    const reply = await api.call('PATCH /users/:username', {
      path: { username: user.username },
      body: change(form, user),
      headers: done === 'user-disabled' ? {} : unchanged(form),
    })
    return reply.ok ? doneAt(userPath(user.username), done) : reply
  }

const unlock: Work = async ({ api }, { username }) => {
  const reply = await api.call('DELETE /users/:username/lock', { path: { username } })
  return reply.ok ? doneAt(userPath(username), 'user-unlocked') : reply
}

const logOut: Work = async ({ api, form }, { username }) => {
  const isEverything = form.get('everything') === 'true'
  const query = isEverything ? { everything: true } : {}
  const reply = await api.call('POST /users/:username/logout', { path: { username }, query })
  if (!reply.ok) return reply
  return doneAt(userPath(username), isEverything ? 'user-credentials-ended' : 'user-logged-out')
}

const removeFactors: Work = async ({ api, form }, { username }) => {
  const body = { password: fieldTextOf(form, 'password') }
  const reply = await api.call('DELETE /users/:username/second-factors', { path: { username }, body })
  return reply.ok ? doneAt(userPath(username), 'user-factors-removed') : reply
}

const makeDigest: Work = async ({ api, form }, { username }) => {
  const body = { password: fieldTextOf(form, 'password') }
  const reply = await api.call('PUT /users/:username/digest-secret', { path: { username }, body })
  return reply.ok ? digestShown(reply.body, { path: userPath(username), text: 'Back to the user' }) : reply
}

const makeResetLink: Work = async ({ api, reader }, { username }) => {
  const reply = await api.call('POST /users/:username/password-reset', { path: { username } })
  if (!reply.ok) return reply
  const { link, code, expiresAt } = reply.body
  return shownOnce({
    title: 'The one-time link is made',
    warning: 'This is shown only now. Whoever has it can set the password of the user.',
    secrets: [
      { label: 'Link', value: link },
      { label: 'Code', value: code },
    ],
    back: { path: userPath(username), text: 'Back to the user' },
    children: (
      <Facts
        facts={[
          ['User name', username],
          ['It works until', <Time time={expiresAt} reader={reader} />],
        ]}
      />
    ),
  })
}

const remove: Work = async ({ api, form }, { username }) => {
  const call = { path: { username }, headers: unchanged(form) }
  const reply = removalProblem(form, username) ?? (await api.call('DELETE /users/:username', call))
  return reply.ok ? doneAt(usersPath, 'user-deleted') : reply
}

const work: Readonly<Record<ActionName, Work>> = {
  grants: patch('user-changed', (form) => ({ roles: chosenRoles(form), rights: chosenRights(form) })),
  profile: patch('user-profile-changed', sentProfile),
  enable: patch('user-enabled', () => ({ enabled: true })),
  disable: patch('user-disabled', () => ({ enabled: false })),
  unlock,
  'log-out': logOut,
  digest: makeDigest,
  reset: makeResetLink,
  factors: removeFactors,
  delete: remove,
}

async function shownUser(visit: AuthVisit, user: User, refused?: Refused): Promise<ShownPage> {
  const { request, form, reader, caller } = visit
  const [offered, { lockedUntil }] = await Promise.all([
    rolesOf(visit),
    visit.api.get('GET /users/:username/lock', { path: { username: user.username } }),
  ])
  const grants = refused?.action === 'grants' ? refused.problem : undefined
  const isSent = grants !== undefined && grants.code !== 'precondition-failed'
  const roles = isSent ? chosenRoles(form) : user.roles
  const rights = isSent ? chosenRights(form) : user.rights
  const fields = [
    { name: 'roles', label: 'Roles' },
    { name: 'rights', label: 'Direct rights' },
  ]
  return {
    title: user.username,
    status: refused?.problem.status ?? 200,
    content: (
      <UserFrame user={user} request={request} tab="" rights={caller.rights}>
        <div class="columns">
          <section class="panel">
            <h2>Roles and rights</h2>
            <ErrorSummary problem={grants} fields={fields} />
            <form method="post" action={userPath(user.username)} class="stack">
              <input type="hidden" name="action" value="grants" />
              <ShownTag of={user} />
              <GrantFields offered={offered} roles={roles} rights={rights} errors={fieldErrors(grants)} />
              <button type="submit">Save</button>
            </form>
          </section>
          <ProfileForm user={user} refused={refused} form={form} />
          <section class="panel">
            <h2>Access</h2>
            <Facts
              facts={[
                ['Locked until', lockedUntil && <Time time={lockedUntil} reader={reader} />],
                ['Id', <code>{user.id}</code>],
                ['Created', <Time time={user.createdAt} reader={reader} />],
                ['Changed', <Time time={user.updatedAt} reader={reader} />],
              ]}
            />
            <AccountActions user={user} refused={refused} isLocked={lockedUntil !== null} />
          </section>
        </div>
      </UserFrame>
    ),
  }
}

interface ProfileFormProps {
  readonly user: User
  readonly refused: Refused | undefined
  readonly form: ReadonlyMap<string, string>
}

function ProfileForm({ user, refused, form }: ProfileFormProps) {
  const problem = refused?.action === 'profile' ? refused.problem : undefined
  const { displayName, email, emailVerified } = user
  const stored = new Map(Object.entries({ displayName, email, emailVerified: String(emailVerified) }))
  const isSent = problem !== undefined && problem.code !== 'precondition-failed'
  return (
    <section class="panel">
      <h2>Name and address</h2>
      <ErrorSummary problem={problem} fields={profileFields} />
      <form method="post" action={userPath(user.username)} class="stack">
        <input type="hidden" name="action" value="profile" />
        <ShownTag of={user} />
        <ProfileFields
          value={(name) => (isSent ? form.get(name) : (stored.get(name) ?? undefined))}
          errors={fieldErrors(problem)}
        />
        <button type="submit">Save name and address</button>
      </form>
    </section>
  )
}
