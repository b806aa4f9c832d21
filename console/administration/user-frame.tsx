/** The frame of the pages about one user. */
import type { Child } from 'hono/jsx'
import { allKeysRight } from '../api-keys/api-key.ts'
import { Notice } from '../frame/content.tsx'
import { type Tab, Tabs } from '../frame/tabs.tsx'
import { doneText } from '../parts/forms.ts'
import { EnabledBadge, type User, userPath, usersPath, usersRight } from './user-parts.tsx'

/** The right that the pages of a user's sessions need. */
export const userSessionsRight = 'session.manage'

interface UserFrameProps {
  /** `enabled` is left out where the page does not know it. */
  readonly user: Pick<User, 'username'> & Partial<Pick<User, 'enabled'>>
  readonly request: { readonly query: URLSearchParams }
  /** The last part of the path; empty on the first tab. */
  readonly tab: '' | '/sessions' | '/api-keys'
  readonly rights: ReadonlySet<string>
  readonly children: Child
}

/** Title, tabs and the message after something was done, above the content. */
export function UserFrame({ user, request, tab, rights, children }: UserFrameProps) {
  const base = userPath(user.username)
  const tabs: Tab[] = [
    ...(rights.has(usersRight) ? [{ path: base, text: 'Overview' }] : []),
    ...(rights.has(userSessionsRight) ? [{ path: `${base}/sessions`, text: 'Sessions' }] : []),
    ...(rights.has(allKeysRight) ? [{ path: `${base}/api-keys`, text: 'API keys' }] : []),
  ]
  return (
    <>
      <div class="head">
        <h1>
          {user.username} {user.enabled !== undefined && <EnabledBadge isEnabled={user.enabled} />}
        </h1>
        {rights.has(usersRight) && <a href={usersPath}>Users</a>}
      </div>
      <Tabs label={`User ${user.username}`} tabs={tabs} path={base + tab} />
      <Notice>{doneText(request)}</Notice>
      {children}
    </>
  )
}
