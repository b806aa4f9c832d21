import { encode } from 'uqr'

/** A QR code as SVG, without a style: dark on white, also on a dark page. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { data, size } = encode(text, { border: 2 })
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x},${y}h1v1h-1z`] : []))).join('')
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} width="220" height="220">
      <rect fill="white" width={size} height={size} />
      <path fill="black" d={path} />
    </svg>
  )
}
