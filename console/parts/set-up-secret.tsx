/** The secret of one-time codes that are being set up: as a QR code and as text. */

import { encode } from 'uqr'
import { Secret } from '../frame/secret.tsx'

/** An `otpauth:` URI of this server, and the secret in it. Undefined for another text. */
export function totpOf(uri: string | undefined): { readonly uri: string; readonly secret: string } | undefined {
  if (uri === undefined || uri.length > 500 || !uri.startsWith('otpauth://totp/') || !URL.canParse(uri))
    return undefined
  const secret = new URL(uri).searchParams.get('secret')
  return secret === null ? undefined : { uri, secret }
}

/** The secret. */
export function SetUpSecret({ uri, secret }: { readonly uri: string; readonly secret: string }) {
  return (
    <>
      <h2>Authenticator app</h2>
      <p>Scan this with the app, or type the secret into it.</p>
      <QrCode text={uri} label="QR code of the secret" />
      <Secret id="secret" label="Secret" value={secret} />
    </>
  )
}

/** A QR code as SVG, without a style: dark on white, also on a dark page. */
function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { data, size } = encode(text, { border: 2 })
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x},${y}h1v1h-1z`] : []))).join('')
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} width="220" height="220">
      <rect fill="white" width={size} height={size} />
      <path fill="black" d={path} />
    </svg>
  )
}
