/** `keyhold api`: any route of either server (docs/contract/operators.md#any-route). */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import type { Keyhold } from '../../client/src/index.ts'
import { printable, printableLines } from '../../shared/platform/terminal/printable.ts'
import { OperationFailed, type Report, WrongUsage } from '../../shared/platform/terminal/report.ts'
import type { CallerPorts } from '../context/ports.ts'
import { bodyText, itemsOf } from './body-text.ts'
import { type ApiRequest, type ApiWords, requestOf } from './request.ts'
import { type Method, methods, servers } from './routes.ts'
import { sendLines } from './send-lines.ts'

interface ApiOptions extends Pick<ApiWords, 'server' | 'input' | 'header' | 'lines'> {
  readonly all?: boolean
  readonly from?: number
}

/** Adds the command to the program. */
export function addApi(program: Command, ports: CallerPorts): void {
  program
    .command('api')
    .description('any route of the auth server and of the deal server')
    .addArgument(new Argument('<method>').choices([...methods]))
    .argument('<path>', 'such as /users; its server is found by the OpenAPI documents')
    .argument('[fields...]', 'field=text, field:=json, field[]=text; field=@FILE and field=@- read the text')
    .option('--input <file>', 'the body, JSON as it stands; - for standard input. Fields are the query then')
    .option('--lines', 'a POST for each line of --input; its outcome goes by the number of the line')
    .option('--from <line>', 'with --lines: the number of the first line to send', lineNumber)
    .option('-H, --header <name:value>', 'a header field; may be repeated', (one, all: string[] = []) => [...all, one])
    .option('--all', 'all pages of a list; with --json a line for each item')
    .addOption(new Option('--server <server>', 'for a path that both servers have, or neither').choices([...servers]))
    .addHelpText(
      'after',
      '\nFields make a JSON object; with GET, HEAD and DELETE they are the query. A secret is no argument: it comes\n' +
        'from a file or from standard input, without the line break at its end. A list is printed as a table, an object\n' +
        'a member a line, and what is no JSON as it comes. --json prints the body as it is.\n\n' +
        "Examples:\n  keyhold api GET /users\n  keyhold api PATCH /users/bob 'roles[]=agent'\n" +
        "  keyhold api PUT /users/bob/password newPassword=@- < password.txt\n  keyhold api DELETE '/users/bob/lock'\n" +
        '  keyhold api POST /users --input users.ndjson --lines\n' +
        "  keyhold --json api GET /audit --all 'action=user.*' > users.ndjson",
    )
    .action(
      ports.report((method: Method, path: string, fields: string[], options: ApiOptions) =>
        call({ ...options, method, path, fields }, ports),
      ),
    )
}

function lineNumber(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected the number of a line, from 1.')
}

const nothing: Report = { json: undefined, text: '' }

async function call(words: ApiOptions & ApiWords, ports: CallerPorts): Promise<Report> {
  if (words.all && words.method !== 'GET') throw new WrongUsage('--all: only GET has pages.')
  const { input, lines, from } = words
  if (lines && (words.method !== 'POST' || !input)) throw new WrongUsage('--lines: needs POST and --input.')
  if (from !== undefined && !lines) throw new WrongUsage('--from: needs --lines.')
  const request = await requestOf(words, ports.terminal)
  if (lines && input) return sendLines(request, { input, from: from ?? 1 }, ports)
  const keyhold = await ports.connect()
  const signal = ports.interrupted()
  const send = (path: string) => keyhold.fetch(request.server, path, { ...request.init, signal, isStream: true })
  try {
    return await (words.all ? allPages(request, send, ports) : one(await send(request.path), words.method, ports))
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof RangeError) throw new OperationFailed('The answer is too long or too deep: try --json.')
    // The body breaks off, or is not what its media type says.
    if (error instanceof TypeError || error instanceof SyntaxError) {
      throw new OperationFailed(`The answer cannot be read: ${printable(error.message)}.`)
    }
    throw error
  }
}

type Send = (path: string) => ReturnType<Keyhold['fetch']>

async function one(response: Response, method: Method, { isJson, warn, streams }: CallerPorts): Promise<Report> {
  const { output } = streams
  if (method === 'HEAD') {
    const headers = Object.fromEntries(response.headers)
    return { json: headers, text: bodyText(headers) }
  }
  if (!isJsonBody(response)) {
    if (!response.body) return nothing
    const chunks = Readable.fromWeb(response.body)
    await pipeline(output.isTTY ? printableTexts(chunks) : chunks, output, { end: false })
    return nothing
  }
  const text = await response.text()
  const body: unknown = JSON.parse(text)
  if (isJson()) {
    output.write(`${output.isTTY ? printableLines(text) : text}\n`)
    return nothing
  }
  if (itemsOf(body) && nextQuery(response)) warn('There are more: add --all.')
  return { json: body, text: bodyText(body) }
}

async function* printableTexts(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const chunk of chunks) yield printableLines(decoder.decode(chunk, { stream: true }))
}

async function allPages({ path }: ApiRequest, send: Send, { isJson, print }: CallerPorts): Promise<Report> {
  const [route = ''] = path.split('?')
  const found: unknown[] = []
  const seen = new Set<string>()
  for (let next: string | undefined = path; next !== undefined; ) {
    if (seen.has(next)) throw new OperationFailed('The server gives the same page again and again.')
    seen.add(next)
    const response = await send(next)
    const items = isJsonBody(response) ? itemsOf(await response.json()) : undefined
    if (!items) throw new WrongUsage(`--all: ${route} is no list.`)
    if (isJson()) for (const item of items) print(item, '')
    else found.push(...items)
    const query = nextQuery(response)
    next = query === undefined ? undefined : route + query
  }
  return isJson() ? nothing : { json: found, text: bodyText(found) }
}

const isJsonBody = ({ headers, body }: Response): boolean =>
  body !== null && /^application\/([\w.-]+\+)?json\b/.test(headers.get('content-type') ?? '')

/** The query of the next page (RFC 8288). The link names the public origin, which need not be that of the login. */
function nextQuery({ headers }: Response): string | undefined {
  const link = /<([^<>]*)>;\s*rel="?next\b/.exec(headers.get('link') ?? '')?.[1]
  return link === undefined ? undefined : new URL(link, 'http://x').search
}
