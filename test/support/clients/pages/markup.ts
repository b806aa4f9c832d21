/** Looks for markup in a page that the page's own templates do not make: text that was not escaped. */

const tags = new Set(
  `html head meta title link script body a header nav ul ol li form input button main footer span strong div h1 h2 h3 p
  dl dt dd table caption thead tbody tr th td section details summary label textarea select option datalist time code
  svg path g rect text`.split(/\s+/),
)

const attribute = /\s+([a-zA-Z:-]+)(?:="([^"<>]*)")?/g
const tag = /<(\/?)([a-z0-9]+)((?:\s+[a-zA-Z:-]+(?:="[^"<>]*")?)*)\s*\/?>/g

/** Each tag and attribute that no template makes, and each bracket outside of tags. */
export function unexpectedMarkup(html: string): string[] {
  const found: string[] = []
  const text = html.replace(/^<!doctype html>\s*/, '').replace(tag, (whole, _end, name: string, attributes: string) => {
    if (!tags.has(name)) found.push(whole)
    for (const [, key = '', value = ''] of attributes.matchAll(attribute)) {
      if (/^(on|style$|srcdoc$|formaction$)/i.test(key)) found.push(whole)
      if (/^(href|src|action)$/.test(key) && !/^(\/(?!\/)|#|\?|http:\/\/127\.0\.0\.1:\d+\/)/.test(value))
        found.push(whole)
    }
    if (name === 'script' && !/ src="\/(console|account)\/assets\//.test(whole) && !whole.startsWith('</'))
      found.push(whole)
    return ''
  })
  return [...found, ...(text.match(/.{0,40}[<>].{0,60}/gs) ?? [])]
}

/** Texts that become markup or script where they are not escaped. Each fits into the name of a deal. */
export const hostileTexts: readonly string[] = [
  `"><img src=x onerror=alert(1)>' onmouseover='alert(1)' x='<script>alert(1)</script>`,
  '</textarea></select></title></svg><svg onload=alert(1)><!-- --><style>*{display:none}</style>',
  `javascript:alert(1)//{{1}}&lt;b&gt;</script><b>\u202e`,
]
