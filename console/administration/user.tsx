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
import { AccountActions, type ActionName } from './user-actions.tsx'
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
    const act = byAction.get(form.get('action') ?? '')
    return act ? act(visit, user) : shownUser(visit, user)
  },
})

interface Refused {
  readonly action: ActionName
  readonly problem: ProblemDocument
}

type Work = (visit: AuthVisit, user: User) => Promise<PageResult>

/** Changes a part of the user. An old page can disable and no more: that takes every right away. */
const patch =
  (
    action: ActionName,
    done: Done,
    change: (form: ReadonlyMap<string, string>, user: User) => AuthRoutes['PATCH /users/:username']['body'],
  ): Work =>
  async (visit, user) => {
    const path = { username: user.username }
    const reply = await visit.api.call('PATCH /users/:username', {
      path,
      body: change(visit.form, user),
      headers: action === 'disable' ? {} : unchanged(visit.form),
    })
    if (reply.ok) return doneAt(userPath(user.username), done)
    return shownUser(visit, user, { action, problem: atFields(reply.problem) })
  }

const unlock: Work = async (visit, user) => {
  const reply = await visit.api.call('DELETE /users/:username/lock', { path: { username: user.username } })
  if (!reply.ok) return shownUser(visit, user, { action: 'unlock', problem: reply.problem })
  return doneAt(userPath(user.username), 'user-unlocked')
}

const logOut: Work = async (visit, user) => {
  const isEverything = visit.form.get('everything') === 'true'
  const reply = await visit.api.call('POST /users/:username/logout', {
    path: { username: user.username },
    query: isEverything ? { everything: true } : {},
  })
  if (!reply.ok) return shownUser(visit, user, { action: 'log-out', problem: reply.problem })
  return doneAt(userPath(user.username), isEverything ? 'user-credentials-ended' : 'user-logged-out')
}

const removeFactors: Work = async (visit, user) => {
  const reply = await visit.api.call('DELETE /users/:username/second-factors', {
    path: { username: user.username },
    body: { password: fieldTextOf(visit.form, 'password') },
  })
  if (!reply.ok) return shownUser(visit, user, { action: 'factors', problem: atFields(reply.problem) })
  return doneAt(userPath(user.username), 'user-factors-removed')
}

const makeDigest: Work = async (visit, user) => {
  const reply = await visit.api.call('PUT /users/:username/digest-secret', {
    path: { username: user.username },
    body: { password: fieldTextOf(visit.form, 'password') },
  })
  if (!reply.ok) return shownUser(visit, user, { action: 'digest', problem: atFields(reply.problem) })
  return digestShown(reply.body, { path: userPath(user.username), text: 'Back to the user' })
}

const makeResetLink: Work = async (visit, user) => {
  const path = { username: user.username }
  const reply = await visit.api.call('POST /users/:username/password-reset', { path })
  if (!reply.ok) return shownUser(visit, user, { action: 'reset', problem: reply.problem })
  const { link, code, expiresAt } = reply.body
  return shownOnce({
    title: 'The one-time link is made',
    warning: 'This is shown only now. Whoever has it can set the password of the user.',
    secrets: [
      { label: 'Link', value: link },
      { label: 'Code', value: code },
    ],
    back: { path: userPath(user.username), text: 'Back to the user' },
    children: (
      <Facts
        facts={[
          ['User name', user.username],
          ['It works until', <Time time={expiresAt} reader={visit.reader} />],
        ]}
      />
    ),
  })
}

const remove: Work = async (visit, user) => {
  const { api, form } = visit
  const path = { username: user.username }
  const reply =
    removalProblem(form, user.username) ??
    (await api.call('DELETE /users/:username', { path, headers: unchanged(form) }))
  if (reply.ok) return doneAt(usersPath, 'user-deleted')
  return shownUser(visit, user, { action: 'delete', problem: reply.problem })
}

const work: Readonly<Record<ActionName, Work>> = {
  grants: patch('grants', 'user-changed', (form) => ({ roles: chosenRoles(form), rights: chosenRights(form) })),
  profile: patch('profile', 'user-profile-changed', sentProfile),
  enable: patch('enable', 'user-enabled', () => ({ enabled: true })),
  disable: patch('disable', 'user-disabled', () => ({ enabled: false })),
  unlock,
  'log-out': logOut,
  digest: makeDigest,
  reset: makeResetLink,
  factors: removeFactors,
  delete: remove,
}

const byAction: ReadonlyMap<string, Work> = new Map(Object.entries(work))

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
