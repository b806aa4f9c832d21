/** The list of users, with search. */

import type { AuthPage } from '../frame/auth-api.ts'
import { type Column, Notice, Pager, Table, Time } from '../frame/content.tsx'
import type { FieldParts } from '../frame/fields.tsx'
import type { Reader } from '../frame/reader.ts'
import { doneText } from '../parts/forms.ts'
import { SearchForm } from '../parts/search-form.tsx'
import { administration } from '../texts/administration.ts'
import { newUserForm } from './new-user.tsx'
import { EnabledBadge, type Role, rolesOf, type User, userPath, usersPath, usersRight } from './user-parts.tsx'

const { users: texts } = administration

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
      title: texts.title,
      status: problem?.status ?? 200,
      content: (
        <>
          <div class="head">
            <h1>{texts.title}</h1>
            <a class="button" href={`${usersPath}?new=yes`}>
              {texts.create}
            </a>
          </div>
          <Notice>{doneText(request)}</Notice>
          <SearchForm
            path={usersPath}
            fields={fieldsFor(await rolesOf(visit))}
            query={query}
            problem={problem}
            submit={texts.search}
          />
          {reply.ok && (
            <>
              <Table caption={texts.title} columns={columnsFor(reader)} rows={reply.body.items} empty={texts.none} />
              <Pager path={usersPath} query={query} nextCursor={reply.body.nextCursor} />
            </>
          )}
        </>
      ),
    }
  },
})

const columnsFor = (reader: Reader): Column<User>[] => [
  { title: texts.name, cell: ({ username }) => <a href={userPath(username)}>{username}</a> },
  { title: texts.roles, cell: ({ roles }) => (roles.length > 0 ? roles.join(', ') : texts.noRoles) },
  { title: texts.state, cell: ({ enabled }) => <EnabledBadge isEnabled={enabled} /> },
  { title: texts.createdAt, cell: ({ createdAt }) => <Time time={createdAt} reader={reader} /> },
]

const stateOptions = [
  { value: '', text: texts.anyState },
  { value: 'true', text: texts.enabled },
  { value: 'false', text: texts.disabled },
]

const fieldsFor = (roles: readonly Role[]): readonly FieldParts[] => [
  { name: 'q', label: texts.name, kind: 'search', maxLength: 64 },
  {
    name: 'role',
    label: texts.role,
    kind: 'select',
    options: [{ value: '', text: texts.anyRole }, ...roles.map(({ name }) => ({ value: name, text: name }))],
  },
  { name: 'enabled', label: texts.state, kind: 'select', options: stateOptions },
]
