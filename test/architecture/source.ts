/** The project's source as the architecture tests read it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, Visitor } from 'rolldown/utils'

const root = join(import.meta.dirname, '../..')

/** One file, as it is written. */
export interface TextFile {
  /** From the root of the project, with slashes. */
  readonly path: string
  readonly lines: readonly string[]
}

/** One file of the source. */
export interface SourceFile extends TextFile {
  /** Without comments, and with everything between quotes blanked; lines as in the file. */
  readonly code: string
  /** What it imports: files of the project by path from its root, packages by name. */
  readonly imports: readonly string[]
  /** Of these, what is loaded with it: neither types nor what is asked for later. */
  readonly importsAtOnce: readonly string[]
  readonly functions: readonly SourceFunction[]
  /** The lines, from 1, on which an object or array literal is spread into another one or into attributes. */
  readonly spreadLiterals: readonly number[]
}

/** A function, method or accessor. */
export interface SourceFunction {
  /** The line on which it begins, from 1. */
  readonly line: number
  /** Its statements, those of inner blocks included, those of inner functions not. */
  readonly statements: number
}

/** The largest number of statements in a function. */
export const maxStatements = 30

/** The functions of a file that have more. */
export const tooLong = ({ path, functions }: SourceFile): string[] =>
  functions
    .filter(({ statements }) => statements > maxStatements)
    .map(({ line, statements }) => `${path}:${line} has ${statements} statements`)

const sourceFolders = ['auth-server', 'deal-server', 'console', 'shared', 'verify', 'client', 'cli', 'bench', 'scripts']

/** To parse all files takes seconds: the tests of a process share what was read first. */
function once<Made>(make: () => Made): () => Made {
  let made: Made | undefined
  return () => {
    made ??= make()
    return made
  }
}

const sourcePaths = once(() => ['start.ts', ...sourceFolders.flatMap(filesBelow)])
const testPaths = once(() => filesBelow('test'))

/** Every file of the source: tests, migrations, generated types and configuration of tools are not among them. */
export const sourceFiles: () => readonly SourceFile[] = once(() => sourcePaths().map(readFile))

/** The tests, and what they stand on. */
export const testFiles: () => readonly SourceFile[] = once(() => testPaths().map(readFile))

/** The lines of the source, of the tests and of what these stand on, for who wants no more of them. */
export const textFiles: () => readonly TextFile[] = once(() =>
  [...sourcePaths(), ...testPaths()].map((path) => ({ path, lines: linesOf(textOf(path)) })),
)

const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')
const readFile = (path: string): SourceFile => readSource(path, textOf(path))
const linesOf = (text: string): string[] => text.replace(/\n$/, '').split('\n')

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory())
      return ['migrations', 'node_modules', 'generated', 'dist'].includes(entry.name) ? [] : filesBelow(path)
    return /\.(tsx?|m?js)$/.test(entry.name) ? [path] : []
  })
}

interface Span {
  readonly start: number
  readonly end: number
}

/** What the tests need to know of a file with this text. @throws TypeError for a text that cannot be parsed */
export function readSource(path: string, text: string): SourceFile {
  const { program, comments, errors } = parseSync(path, text)
  if (errors.length > 0) throw new TypeError(`${path}: ${errors[0]?.message}`)
  const blanks: Span[] = comments.map(({ start, end }) => ({ start, end }))
  const imported: { name: string; isAtOnce: boolean }[] = []
  const note = (source: unknown, isAtOnce: boolean) => {
    const { value } = (source ?? {}) as { value?: unknown }
    if (typeof value === 'string') imported.push({ name: resolve(path, value), isAtOnce })
  }
  const functions: SourceFunction[] = []
  const open: { line: number; statements: number }[] = []
  const spreadLiterals: number[] = []
  const lineOf = ({ start }: Span) => text.slice(0, start).split('\n').length
  const noteSpread = (node: Span & { readonly argument: { readonly type: string } }) => {
    if (['ObjectExpression', 'ArrayExpression'].includes(node.argument.type)) spreadLiterals.push(lineOf(node))
  }
  const enter = (node: Span) => void open.push({ line: lineOf(node), statements: 0 })
  const leave = () => {
    const left = open.pop()
    if (left) functions.push(left)
  }
  const count = (statements: readonly unknown[]) => {
    const present = open.at(-1)
    if (present) present.statements += statements.length
  }
  const visitor = new Visitor({
    ImportDeclaration: ({ source, importKind }) => note(source, importKind !== 'type'),
    ExportNamedDeclaration: ({ source, exportKind }) => note(source, exportKind !== 'type'),
    ExportAllDeclaration: ({ source, exportKind }) => note(source, exportKind !== 'type'),
    ImportExpression: ({ source }) => note(source, false),
    TSImportType: ({ source }) => note(source, false),
    FunctionDeclaration: enter,
    'FunctionDeclaration:exit': leave,
    FunctionExpression: enter,
    'FunctionExpression:exit': leave,
    ArrowFunctionExpression: enter,
    'ArrowFunctionExpression:exit': leave,
    BlockStatement: ({ body }) => count(body),
    SwitchCase: ({ consequent }) => count(consequent),
    SpreadElement: noteSpread,
    JSXSpreadAttribute: noteSpread,
    Literal: ({ value, start, end }) => {
      if (typeof value === 'string' || value instanceof RegExp) blanks.push({ start: start + 1, end: end - 1 })
    },
    TemplateElement: ({ start, end }) => void blanks.push({ start, end }),
  })
  visitor.visit(program)
  return {
    path,
    lines: linesOf(text),
    code: blank(text, blanks),
    imports: imported.map(({ name }) => name),
    importsAtOnce: imported.filter(({ isAtOnce }) => isAtOnce).map(({ name }) => name),
    functions,
    spreadLiterals,
  }
}

const resolve = (path: string, specifier: string): string =>
  specifier.startsWith('.') ? join(path, '..', specifier) : specifier.replace(/^((?:@[^/]+\/)?[^/]+).*$/, '$1')

/** The text with blanks at these places. Line ends stay. */
function blank(text: string, spans: readonly Span[]): string {
  let result = ''
  let at = 0
  for (const { start, end } of spans.toSorted((one, other) => one.start - other.start)) {
    result += text.slice(at, start) + text.slice(start, end).replace(/[^\n]/g, ' ')
    at = end
  }
  return result + text.slice(at)
}
