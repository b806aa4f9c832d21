/** What a page shows, read without a browser. */
import { rememberSecret } from '../http-client.ts'

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** Text of a page without its escapes. */
export const unescaped = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name] ?? '')

/** The secrets that a page shows once, in order. */
export function shownSecrets(text: string): string[] {
  const found = [...text.matchAll(/<section class="secret"[^>]*><code>([^<]*)<\/code>/g)].map((match) =>
    unescaped(match[1] ?? ''),
  )
  found.forEach(rememberSecret)
  return found
}

/** The errors at the fields of a page, by the id of the field. */
export const shownErrors = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text.matchAll(/<p class="error" id="([^"]*)-error">([^<]*)<\/p>/g)].map(([, id = '', message = '']) => [
      id,
      unescaped(message),
    ]),
  )

/** Texts that would run, or change the page, if they were not escaped. */
export const markupCorpus: readonly string[] = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' autofocus onfocus='alert(1)",
  '</title><svg onload=alert(1)>',
  '<!-- --><iframe srcdoc="<b>">',
  'javascript:alert(1)//',
  '&lt;script&gt;&#x3C;b&#x3E;',
  '{{7*7}}<%= 7 %>',
]

/** True when the page has the text, and nothing of it is markup. */
export const showsAsText = (page: string, text: string): boolean =>
  page.includes(
    text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&#39;'),
  ) &&
  (!/[<"]/.test(text) || !page.includes(text))
