/**
 * The project's source as the architecture tests read it. Not a parser: a scanner that knows comments, strings,
 * templates and regular expressions, which is enough to find imports and to count the lines between braces. It relies
 * on Biome's formatting.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** One file of the source. */
export interface SourceFile {
  /** From the root of the project, with slashes. */
  readonly path: string
  readonly lines: readonly string[]
  /** Without comments, and with everything between quotes blanked; lines as in the file. */
  readonly code: string
  /** What it imports: files of the project by path from its root, packages by name. */
  readonly imports: readonly string[]
  /** Of these, what is loaded with it: neither types nor what is asked for later. */
  readonly importsAtOnce: readonly string[]
}

const sourceFolders = ['auth-server', 'deal-server', 'shared', 'client', 'cli', 'bench', 'scripts']

/** Every file of the source: tests, migrations, generated types and configuration of tools are not among them. */
export const sourceFiles = (): SourceFile[] => ['start.ts', ...sourceFolders.flatMap(filesBelow)].map(readFile)

/** The tests, and what they stand on. */
export const testFiles = (): SourceFile[] => filesBelow('test').map(readFile)

const readFile = (path: string): SourceFile => readSource(path, readFileSync(join(root, path), 'utf8'))

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory())
      return ['migrations', 'node_modules', 'generated', 'dist'].includes(entry.name) ? [] : filesBelow(path)
    return /\.(tsx?|mjs)$/.test(entry.name) ? [path] : []
  })
}

/** What the tests need to know of a file with this text. */
export function readSource(path: string, text: string): SourceFile {
  const withStrings = blank(text, { strings: false })
  const found = (pattern: RegExp): string[] =>
    [...withStrings.matchAll(pattern)].map(([, specifier = '']) => resolve(path, specifier))
  const whole = found(/^import\s+['"]([^'"]+)['"]/gm)
  return {
    path,
    lines: text.replace(/\n$/, '').split('\n'),
    code: blank(text, { strings: true }),
    imports: [
      ...found(/^(?:import|export)\b[^'"`;]*?\bfrom\s+['"]([^'"]+)['"]/gm),
      ...whole,
      ...found(/\b(?:import|require)\s*\(\s*['"]([^'"]+)['"]/g),
    ],
    importsAtOnce: [...found(/^(?:import|export)\b(?! type\b)[^'"`;]*?\bfrom\s+['"]([^'"]+)['"]/gm), ...whole],
  }
}

const resolve = (path: string, specifier: string): string =>
  specifier.startsWith('.') ? join(path, '..', specifier) : specifier.replace(/^((?:@[^/]+\/)?[^/]+).*$/, '$1')

const token =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|(?<=(?:^|[(,=:[!&|?{};>]|\breturn)\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*|[`{}]/g

/** The text with comments, and if asked for the content of quotes, replaced by blanks. Line ends stay. */
function blank(text: string, { strings }: { strings: boolean }): string {
  let result = ''
  let at = 0
  // Depth of braces at which each template that is open goes on.
  const templates: number[] = []
  let depth = 0
  const keep = (end: number) => {
    result += text.slice(at, end)
    at = end
  }
  const drop = (end: number) => {
    result += text.slice(at, end).replace(/[^\n]/g, ' ')
    at = end
  }
  const template = () => {
    const end = endOfTemplatePart(text, at)
    if (strings) drop(end)
    else keep(end)
    if (text[end] === '`') keep(end + 1)
    else {
      keep(end + 2)
      templates.push(depth)
    }
  }
  for (;;) {
    token.lastIndex = at
    const match = token.exec(text)
    if (!match) break
    keep(match.index)
    const [found] = match
    const end = at + found.length
    if (found.startsWith('//') || found.startsWith('/*')) drop(end)
    else if (found === '`') {
      keep(end)
      template()
    } else if (found === '{') {
      depth += 1
      keep(end)
    } else if (found === '}') {
      keep(end)
      if (templates.at(-1) === depth) {
        templates.pop()
        template()
      } else depth -= 1
    } else if (strings) {
      keep(at + 1)
      drop(end - 1)
      keep(end)
    } else keep(end)
  }
  keep(text.length)
  return result
}

/** Where the text of a template ends: at its closing quote, or at the next `${`. */
function endOfTemplatePart(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1
    else if (text[at] === '`' || (text[at] === '$' && text[at + 1] === '{')) return at
  }
  return text.length
}

/** A stretch of code between braces, or between the parentheses behind an arrow. */
export interface Block {
  /** The code before it, up to the statement before. */
  readonly header: string
  /** Of the line on which it begins, from 1. */
  readonly line: number
  /** From the line of its opening to that of its closing. */
  readonly length: number
}

const notFunctions = /\b(?:class|interface|namespace|enum)\b[^;{}]*$|(?:[=([,:?|&]|\?\?|\breturn|\btype\s+\w+\s*=)\s*$/

/**
 * The blocks that are functions or parts of them: every pair of braces but those of classes, interfaces, types and
 * object literals, and what stands in parentheses behind an arrow.
 */
export function functionBlocks(code: string): Block[] {
  const open: { header: string; line: number; counts: boolean }[] = []
  const blocks: Block[] = []
  let line = 1
  let headerFrom = 0
  for (let at = 0; at < code.length; at += 1) {
    const character = code[at] ?? ''
    if (character === '\n') line += 1
    if (character === ';') headerFrom = at + 1
    if ('({['.includes(character)) {
      const header = code.slice(headerFrom, at).trim()
      const counts = character === '{' ? !notFunctions.test(header) : character === '(' && header.endsWith('=>')
      open.push({ header, line, counts })
      if (character === '{') headerFrom = at + 1
    } else if (')}]'.includes(character)) {
      const block = open.pop()
      if (block?.counts) blocks.push({ header: block.header, line: block.line, length: line - block.line + 1 })
      if (character === '}') headerFrom = at + 1
    }
  }
  return blocks
}
