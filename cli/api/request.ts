/** The request that the words of `keyhold api` ask for. */
import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import type { ServerName } from '../../client/src/index.ts'
import { parseJson } from '../../shared/platform/json.ts'
import { withoutLineEnd } from '../../shared/platform/terminal/options.ts'
import { WrongUsage } from '../../shared/platform/terminal/report.ts'
import type { Terminal } from '../../shared/platform/terminal/terminal.ts'
import { type Method, serverOf } from './routes.ts'

/** The words behind `keyhold api`. */
export interface ApiWords {
  readonly method: Method
  readonly path: string
  readonly fields: readonly string[]
  readonly server?: ServerName
  /** A file with the body; `-` for standard input. */
  readonly input?: string
  readonly header?: readonly string[]
  /** Each line of the file is the body of a request of its own. */
  readonly lines?: boolean
}

/** A request for one of the servers. */
export interface ApiRequest {
  readonly server: ServerName
  /** With the query. */
  readonly path: string
  readonly init: RequestInit
}

/** Makes the request; values from files and from standard input are read. @throws WrongUsage */
export async function requestOf(words: ApiWords, terminal: Terminal): Promise<ApiRequest> {
  const { method, input } = words
  const server = serverOf(words.path, words.server)
  const headers = headersOf(words.header ?? [])
  const read = createReader(terminal)
  const fields = await fieldsOf(words.fields, read)
  const hasBody = method !== 'GET' && method !== 'HEAD'
  if (input !== undefined && !hasBody) throw new WrongUsage(`--input: ${method} has no body.`)
  const isQuery = input !== undefined || !hasBody || method === 'DELETE'
  const path = isQuery ? withQuery(words.path, fields) : words.path
  const ofFields = isQuery || fields.size === 0 ? undefined : JSON.stringify(Object.fromEntries(fields))
  const body = input === undefined ? ofFields : words.lines ? undefined : await read(input)
  if ((body !== undefined || words.lines) && !headers.has('content-type'))
    headers.set('content-type', 'application/json')
  return { server, path, init: { method, headers, ...(body !== undefined && { body }) } }
}

const ofConnection = /^(connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)\s*:/i

function headersOf(lines: readonly string[]): Headers {
  const refused = lines.find((line) => ofConnection.test(line))
  if (refused !== undefined) throw new WrongUsage(`--header: the connection alone sets ${refused.split(':')[0]}.`)
  try {
    return new Headers(lines.map((line) => [/^[^:]+(?=:)/.exec(line)?.[0] ?? '', line.replace(/^[^:]+:/, '')]))
  } catch {
    throw new WrongUsage('--header: expected NAME:VALUE.')
  }
}

/** Reads a file, or standard input for `-`, without the line break at its end. */
type ReadText = (file: string) => Promise<string>

function createReader(terminal: Terminal): ReadText {
  let isInputRead = false
  return async (file) => {
    if (file === '-') {
      if (isInputRead) throw new WrongUsage('Standard input can be read once alone.')
      isInputRead = true
      return terminal.readAll()
    }
    const bytes = await readFile(file).catch(unreadable(file))
    if (!isUtf8(bytes)) throw new WrongUsage(`${file} is no text in UTF-8.`)
    return withoutLineEnd(bytes.toString('utf8'))
  }
}

/** Refuses a file for what the system says of it. */
export const unreadable = (file: string) => (error: NodeJS.ErrnoException) => {
  throw new WrongUsage(`${file} cannot be read (${error.code}).`)
}

const fieldForm = /^([^=:[\]]+)(\[\])?(:?=)(.*)$/s

async function fieldsOf(words: readonly string[], read: ReadText): Promise<Map<string, unknown>> {
  const fields = new Map<string, unknown>()
  for (const word of words) {
    const [, name, appends, sign, text = ''] = fieldForm.exec(word) ?? []
    if (name === undefined) throw new WrongUsage(`'${word}' is no field=value, field:=json or field[]=value.`)
    const before = fields.get(name)
    if (before !== undefined && !(appends && Array.isArray(before))) throw new WrongUsage(`${name} is given twice.`)
    const value = sign === ':=' ? jsonOf(name, text) : text.startsWith('@') ? await read(text.slice(1)) : text
    fields.set(name, appends ? [...(Array.isArray(before) ? before : []), value] : value)
  }
  return fields
}

function jsonOf(name: string, text: string): unknown {
  try {
    const value = parseJson(text)
    // Beyond 1e308 is null in JSON, and what is too deep has no text.
    JSON.stringify(value, (_member, part: unknown) => {
      if (typeof part === 'number' && !Number.isFinite(part)) throw new RangeError()
      return part
    })
    return value
  } catch {
    throw new WrongUsage(`${name}:= needs JSON: a number, true, false, null, [...] or {...}.`)
  }
}

function withQuery(path: string, fields: ReadonlyMap<string, unknown>): string {
  const query = new URLSearchParams()
  for (const [name, value] of fields) {
    for (const one of Array.isArray(value) ? value : [value]) {
      query.append(name, typeof one === 'string' ? one : JSON.stringify(one))
    }
  }
  return query.size === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`
}
