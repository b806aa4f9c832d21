/** The frame of the pages of API keys, and the page that shows new material of a key. */
import type { Child } from 'hono/jsx'
import { AccountFrame } from '../account/tabs.tsx'
import type { AuthReply } from '../frame/auth-api.ts'
import type { ShownPage } from '../frame/console.tsx'
import { Facts, Notice } from '../frame/content.tsx'
import { doneText } from '../parts/forms.ts'
import { shownOnce } from '../parts/show-once.tsx'
import { type KeyPlace, keyNameOf } from './api-key.ts'

interface KeyFrameProps {
  readonly place: KeyPlace
  readonly request: { readonly path: string; readonly query: URLSearchParams }
  readonly children: Child
}

/** The reader's own keys are below the tabs of the account. */
export function KeyFrame({ place, request, children }: KeyFrameProps) {
  if (!place.isOfAll) return <AccountFrame request={request}>{children}</AccountFrame>
  return (
    <>
      <h1>API keys</h1>
      <Notice>{doneText(request)}</Notice>
      {children}
    </>
  )
}

/** The page after a key was made or rotated. */
export function materialShown(title: string, place: KeyPlace, key: AuthReply<'POST /api-keys'>): ShownPage {
  const { id, secret, privateKeyPem } = key
  return shownOnce({
    title,
    secrets: [
      ...(secret === undefined ? [] : [{ label: 'Secret', value: secret }]),
      ...(privateKeyPem === undefined
        ? []
        : [{ label: 'Private key (PKCS#8, PEM)', value: privateKeyPem, fileName: `keyhold-${id}.pem` }]),
    ],
    back: { path: `${place.base}/${encodeURIComponent(id)}`, text: 'Go on to the key' },
    children: (
      <>
        <Facts
          facts={[
            ['Id', <code>{id}</code>],
            ['Name', keyNameOf(key)],
            ['Owner', place.isOfAll ? key.username : null],
          ]}
        />
        {secret === undefined && privateKeyPem === undefined && (
          <p>The key accepts signatures of your own private key.</p>
        )}
      </>
    ),
  })
}
