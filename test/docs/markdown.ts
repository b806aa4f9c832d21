/** Reads the pages of the project: headings as the anchors that GitHub makes of them, links, tables, code spans. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const docs = join(import.meta.dirname, '../../docs')

/** The names of the page and of those that its tables lead to in the folder of its name, in that order. */
export function partsOf(page: string): readonly string[] {
  const folder = page.replace(/\.md$/, '')
  const links = readFileSync(join(docs, page), 'utf8').matchAll(new RegExp(`\\]\\((${folder}/[\\w-]+\\.md)\\)`, 'g'))
  return [page, ...Array.from(links, ([, link = '']) => link)]
}

/** The text of the page and of its parts, as one. */
export const wholePage = (page: string): string =>
  partsOf(page)
    .map((part) => readFileSync(join(docs, part), 'utf8'))
    .join('\n')

const withoutCode = (text: string): string => text.replace(/^```.*?^```$/gms, '')

/** The anchors of all headings, in order. */
export const anchorsOf = (text: string): string[] =>
  [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{Pc} -]/gu, '')
      .replaceAll(' ', '-'),
  )

/** Where the links of a page lead, as written. */
export const linksIn = (text: string): string[] =>
  [...withoutCode(text).matchAll(/\]\(([^()\s]+)\)/g)].map(([, link = '']) => link)

/** Every line that is neither of a table nor of a code block. */
export const proseOf = (text: string): string[] =>
  withoutCode(text)
    .split('\n')
    .filter((line) => !line.startsWith('|'))

/** What stands between a heading and the next one, of whatever level. @throws Error without such a heading */
export function sectionOf(text: string, heading: string): string {
  const [, section] = new RegExp(`^#+ ${heading}\\n(.*?)(?=^#|(?![^]))`, 'ms').exec(text) ?? []
  if (section === undefined) throw new Error(`there is no heading ${heading}`)
  return section
}

/** The cells of all rows of the tables in a text, without the rules between. */
export const rowsIn = (text: string): string[][] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|[-| ]+\|$/.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )

/** The texts of all code spans. */
export const codeSpansIn = (text: string): string[] => [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)
