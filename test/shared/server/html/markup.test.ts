import fc from 'fast-check'
import { expect, it } from 'vitest'
import { html, nothing } from '../../../../shared/server/html/markup.ts'

it('escapes text wherever it stands', () => {
  const text = `<script>"&'</script>`
  const escaped = '&lt;script&gt;&quot;&amp;&#39;&lt;/script&gt;'
  expect(html`<p title="${text}">${text}</p>`.toString()).toBe(`<p title="${escaped}">${escaped}</p>`)
})

it('leaves no text in which a tag, a quote or a reference could begin', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(html`${text}`.toString()).toMatch(/^(?:[^&<>"']|&(?:amp|lt|gt|quot|#39);)*$/)
    }),
  )
})

it('takes markup as it is, one or many', () => {
  expect(html`<ul>${['a', '<'].map((text) => html`<li>${text}</li>`)}${nothing}${1}</ul>`.toString()).toBe(
    '<ul><li>a</li><li>&lt;</li>1</ul>',
  )
})
