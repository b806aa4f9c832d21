import { html as honoHtml, raw } from 'hono/html'
import type { HtmlEscapedString } from 'hono/utils/html'

/** HTML in which every text is escaped. A plain string is not assignable to it. */
export type Markup = HtmlEscapedString

/** The content of a place in a template: text, which gets escaped, or markup, which stays as it is. */
export type Content = string | number | Markup | readonly Markup[]

/** A template of HTML. Attributes must be quoted. No place may be in a script, a style or a name. */
export const html = (parts: TemplateStringsArray, ...contents: readonly Content[]): Markup =>
  // hono/html answers a promise only when some content is a promise.
  honoHtml(parts, ...contents) as Markup

/** Empty markup. */
export const nothing: Markup = raw('')
