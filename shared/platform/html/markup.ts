/** HTML that is safe by its type: whatever goes into it as text is escaped. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** What may stand in a place of a template: text, which is escaped, or markup, which is not. */
export type Content = string | number | Markup | readonly Markup[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeText = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '')

function textOf(content: Content): string {
  if (content instanceof Markup) return content.text
  if (typeof content === 'object') return content.map(({ text }) => text).join('')
  return escapeText(String(content))
}

/** A template of HTML. Attributes must be quoted, and no place may stand in a script, a style or the name of anything. */
export const html = (parts: TemplateStringsArray, ...contents: readonly Content[]): Markup =>
  new Markup(String.raw({ raw: parts }, ...contents.map(textOf)))

/** Nothing. */
export const nothing = new Markup('')
