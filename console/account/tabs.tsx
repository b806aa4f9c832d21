/** The frame of the pages about the reader's own account. */
import type { Child } from 'hono/jsx'
import { Notice } from '../frame/content.tsx'
import { type Tab, Tabs } from '../frame/tabs.tsx'
import { doneText } from '../parts/forms.ts'
import { strings } from '../texts/account.ts'

/** The tabs, in order. A further page adds its line here. */
const accountTabs: readonly Tab[] = [
  { path: '/account', text: strings.tabs.overview },
  { path: '/account/password', text: strings.tabs.password },
  { path: '/account/security', text: strings.tabs.security },
  { path: '/account/sessions', text: strings.tabs.sessions },
  { path: '/account/api-keys', text: strings.tabs.apiKeys },
  { path: '/account/tokens', text: strings.tabs.tokens },
]

interface AccountFrameParts {
  readonly request: { readonly path: string; readonly query: URLSearchParams }
  readonly children: Child
}

/** Title, tabs and the message after something was done, above the content. */
export function AccountFrame({ request, children }: AccountFrameParts) {
  return (
    <>
      <h1>{strings.account}</h1>
      <Tabs label={strings.account} tabs={accountTabs} path={request.path} />
      <Notice>{doneText(request)}</Notice>
      {children}
    </>
  )
}
