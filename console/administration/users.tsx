/** The list of users, with search. */

import type { AuthPage } from '../frame/auth-api.ts'
import { type Column, Notice, Pager, Table, Time } from '../frame/content.tsx'
import type { FieldProps } from '../frame/fields.tsx'
import type { Reader } from '../frame/reader.ts'
import { doneText } from '../parts/forms.ts'
import { SearchForm } from '../parts/search-form.tsx'
import { newUserForm } from './new-user.tsx'
import { EnabledBadge, type Role, rolesOf, type User, userPath, usersPath, usersRight } from './user-parts.tsx'

/** `/account/users`; with `?new`, the form for a new user, whose name could be that of any page below this one. */
export const usersPage = (): AuthPage => ({
  methods: ['GET'],
  path: usersPath,
  right: usersRight,
  render: async (visit) => {
    const { request, api, reader } = visit
    const { query } = request
    if (query.has('new')) return newUserForm(visit)
    const [q, role, enabled, cursor] = ['q', 'role', 'enabled', 'cursor'].map((name) => query.get(name) ?? undefined)
    const reply = await api.call('GET /users', { query: { q: q?.trim(), role, enabled, cursor } })
    const problem = reply.ok ? undefined : reply.problem
    return {
      title: 'Users',
      status: problem?.status ?? 200,
      content: (
        <>
          <div class="head">
            <h1>Users</h1>
            <a class="button" href={`${usersPath}?new=yes`}>
              Create a user
            </a>
          </div>
          <Notice>{doneText(request)}</Notice>
          <SearchForm
            path={usersPath}
            fields={fieldsFor(await rolesOf(visit))}
            query={query}
            problem={problem}
            submit="Search"
          />
          {reply.ok && (
            <>
              <Table
                caption="Users"
                columns={columnsFor(reader)}
                rows={reply.body.items}
                empty="No user is like that."
              />
              <Pager path={usersPath} query={query} nextCursor={reply.body.nextCursor} />
            </>
          )}
        </>
      ),
    }
  },
})

const columnsFor = (reader: Reader): Column<User>[] => [
  { title: 'Name', cell: ({ username }) => <a href={userPath(username)}>{username}</a> },
  { title: 'Roles', cell: ({ roles }) => (roles.length > 0 ? roles.join(', ') : 'No role') },
  { title: 'State', cell: ({ enabled }) => <EnabledBadge isEnabled={enabled} /> },
  { title: 'Created', cell: ({ createdAt }) => <Time time={createdAt} reader={reader} /> },
]

const stateOptions = [
  { value: '', text: 'Any state' },
  { value: 'true', text: 'enabled' },
  { value: 'false', text: 'disabled' },
]

const fieldsFor = (roles: readonly Role[]): readonly FieldProps[] => [
  { name: 'q', label: 'Name', kind: 'search', maxLength: 64 },
  {
    name: 'role',
    label: 'Role',
    kind: 'select',
    options: [{ value: '', text: 'Any role' }, ...roles.map(({ name }) => ({ value: name, text: name }))],
  },
  { name: 'enabled', label: 'State', kind: 'select', options: stateOptions },
]
