/** The frame of the pages about the reader's own account. */
import type { Child } from 'hono/jsx'
import { Notice } from '../frame/content.tsx'
import { type Tab, Tabs } from '../frame/tabs.tsx'
import { doneText } from '../parts/forms.ts'

/** The tabs, in order. A further page adds its line here. */
const accountTabs: readonly Tab[] = [
  { path: '/account', text: 'Overview' },
  { path: '/account/password', text: 'Password' },
  { path: '/account/security', text: 'Second factor' },
  { path: '/account/sessions', text: 'Sessions' },
  { path: '/account/applications', text: 'Applications' },
  { path: '/account/api-keys', text: 'API keys' },
  { path: '/account/tokens', text: 'Tokens and secrets' },
]

interface AccountFrameProps {
  readonly request: { readonly path: string; readonly query: URLSearchParams }
  readonly children: Child
}

/** Title, tabs and the message after something was done, above the content. */
export function AccountFrame({ request, children }: AccountFrameProps) {
  return (
    <>
      <h1>Account</h1>
      <Tabs label="Account" tabs={accountTabs} path={request.path} />
      <Notice>{doneText(request)}</Notice>
      {children}
    </>
  )
}
