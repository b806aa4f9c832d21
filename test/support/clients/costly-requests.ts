/** The requests without a good credential that give a server the most to do, as bytes on the wire. */

type ServerName = 'auth' | 'deal'

/** A request, and what it strains. */
export interface CostlyRequest {
  readonly name: string
  readonly server: ServerName
  readonly bytes: string
}

/** Those to one target. */
export interface CostlyTarget {
  readonly server: ServerName
  readonly target: string
  readonly requests: readonly CostlyRequest[]
}

/** The request line and the header fields together may have 16 KiB: so much of it is left for what strains. */
const headRoom = 15_600
/** Where bodies are read before anybody has shown who he is, they may have 16 KiB, elsewhere 256. */
const openBodyRoom = 16 * 1024 - 64
const bodyRoom = 256 * 1024 - 64
/** The form of an import has two megabytes, once its sender is known. */
const fileRoom = 2 * 1024 * 1024

/** A request by what is behind its target, its header fields, its body. */
interface Strain {
  readonly name: string
  readonly behind?: string
  readonly headers?: readonly string[]
  readonly body?: string
}

function requestOf(server: ServerName, target: string, { name, behind = '', headers = [], body }: Strain) {
  const line = `${body === undefined ? 'GET' : 'POST'} ${target}${behind} HTTP/1.1`
  const length = body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`]
  const bytes = [line, 'host: localhost', 'connection: close', ...length, ...headers, '', body ?? ''].join('\r\n')
  return { name, server, bytes }
}

const targetOf = (server: ServerName, target: string, strains: readonly Strain[]): CostlyTarget => ({
  server,
  target,
  requests: strains.map((strain) => requestOf(server, target, strain)),
})

/** As many repetitions as there is room for. */
const times = (text: string, room = headRoom): string => text.repeat(Math.floor(room / text.length))

/** The same, each with its number. */
function numbered(text: (index: number) => string, room = headRoom): string {
  let filled = ''
  for (let index = 0; ; index += 1) {
    const more = text(index)
    if (filled.length + more.length > room) return filled
    filled += more
  }
}

const now = (): number => Math.floor(Date.now() / 1000)

/** In no order, and all different below 10,007. */
const scattered = (index: number): number => (index * 7_919) % 10_007

const parameter = (index: number): string => ` "@query-param";name="k${index}"`
const ofFields = (components: string): string[] => [
  `signature-input: s=("@method" "@path" "@query"${components});created=${now()};keyid="k"`,
  `signature: s=:${'A'.repeat(43)}=:`,
]

/** Signatures in header fields (RFC 9421). */
const inFields = (): Strain[] => {
  const some = Array.from({ length: 29 }, (_, index) => parameter(index)).join('')
  const many = numbered((index) => `k${index}&`, 14_000)
  return [
    {
      name: 'the query parameters of a signature by the hundred',
      behind: `?${numbered((index) => `k${index}&`, 7_000)}`,
      headers: ofFields(numbered(parameter, 8_000)),
    },
    { name: '29 parameters of a signature among thousands', behind: `?${many}`, headers: ofFields(some) },
    {
      name: '29 encoded parameters of a signature among thousands',
      behind: `?${numbered((index) => `k${index}=%c3%a9&`, 14_000)}`,
      headers: ofFields(some),
    },
    {
      name: 'header fields of a signature by the hundred',
      headers: [
        ...ofFields(numbered((index) => ` "x${index}"`, 6_000)),
        ...Array.from({ length: 1_000 }, (_, index) => `x${index}: 1`),
      ],
    },
    {
      name: 'a signed header field of a thousand lines',
      headers: [...ofFields(' "x"'), ...Array.from({ length: 1_900 }, () => 'x: 1')],
    },
    {
      name: 'signatures by the thousand',
      headers: [`signature-input: ${numbered((index) => `a${index}=(),`)}a=()`, 'signature: a=:AAAA:'],
    },
    {
      name: 'parameters of a signature by the thousand',
      headers: [`signature-input: s=("@method")${numbered((index) => `;a${index}`)}`, 'signature: s=:AAAA:'],
    },
    { name: 'a component of a long name', headers: ofFields(` "${'x'.repeat(15_000)}"`) },
  ]
}

/** Signatures in the query. */
const inQuery = (): Strain[] => {
  const start = `?timestamp=${now()}&apiKey=k&signature=00&`
  return [
    { name: 'signed parameters by the thousand', behind: start + numbered((index) => `${scattered(index)}&`) },
    { name: 'signed parameters beyond ASCII', behind: start + numbered((index) => `%c3%a9${scattered(index)}&`) },
    {
      name: 'signed parameters of one name beyond ASCII',
      behind: start + numbered((index) => `%c3%a9=%c3%${(0x80 + (scattered(index) % 0x30)).toString(16)}&`),
    },
    { name: 'a query that is not well encoded', behind: `?${times('%&')}` },
    { name: 'a long encoded query', behind: `?${times('%41=&')}` },
  ]
}

const jwt = (header: string, payload: string): string =>
  [header, payload, 'x'.repeat(256)].map((part) => Buffer.from(part).toString('base64url')).join('.')

/** What Digest asks for beside `username`. */
const digestRest = `realm="keyhold", nonce="x", uri="/", cnonce="a", response="${'0'.repeat(64)}", nc=00000001, qop=auth`

/** The `Authorization` field. */
const inAuthorization = (): Strain[] =>
  Object.entries({
    'Digest parameters': `Digest ${numbered((index) => `a${index}=b,`, 8_000)}x`,
    'blanks and commas of Digest': `Digest a=b${times(' ,', 8_000)}x`,
    'backslashes of Digest': `Digest a="${times('\\\\', 8_000)}`,
    'a long user name of Digest': `Digest username*=UTF-8''${times('%c3%a9', 7_000)}, ${digestRest}, algorithm=SHA-256`,
    'a long user name of Basic': `Basic ${Buffer.from(`${'x'.repeat(11_000)}:y`).toString('base64')}`,
    'a long password of Basic': `Basic ${Buffer.from(`alice:${'é'.repeat(5_500)}`).toString('base64')}`,
    'a JWT with a header of many members': `Bearer ${jwt(`{${numbered((index) => `"a${index}":0,`, 10_000)}"alg":"RS256"}`, '{}')}`,
    'a JWT with a deep payload': `Bearer ${jwt('{"alg":"RS256","typ":"at+jwt","kid":"k"}', times('[', 10_000))}`,
    'a JWT of dots': `Bearer ${times('.')}`,
    'a long key-signed token': `KeySigned kst1.${'k'.repeat(43)}.${times('A')}`,
    'a Basic credential of padding': `Basic ${times('=')}x`,
    'blanks in Authorization': `Bearer${times(' ')}x`,
  }).map(([name, value]) => ({ name, headers: [`authorization: ${value}`] }))

/** Other header fields. */
const inOtherFields = (): Strain[] => [
  ...Object.entries({
    'session cookies by the hundred': `cookie: ${times('keyhold_session=a;')}`,
    'cookies by the thousand': `cookie: ${times('a=;')}keyhold_session=a`,
    'proxies by the thousand': `x-forwarded-for: ${times('::1,')}::1`,
    'proxies by the thousand, as RFC 7239 has them': `forwarded: ${times('for=::1,')}for=::1`,
    'a long element about a proxy': `forwarded: ${times('for=::1;')}`,
    'a long origin': `origin: http://${times('a')}`,
    'entity tags by the thousand': `if-none-match: ${times('"a",')}`,
    'preferences by the thousand': `prefer: ${times('a;"\\"",')}`,
    'media ranges by the thousand': `accept: ${times('a;q=1,')}`,
    'a long traceparent': `traceparent: 00-${times('0')}`,
    'a long media type': `content-type: ${times('a;')}`,
  }).map(([name, line]) => ({ name, headers: [line] })),
  { name: 'header fields by the thousand', headers: Array.from({ length: 1_900 }, (_, index) => `x${index}: 1`) },
]

const json = ['content-type: application/json']
const form = ['content-type: application/x-www-form-urlencoded']

const inJson = (room: number): Strain[] =>
  Object.entries({
    'unknown members': `{${numbered((index) => `"${index}":0,`, room)}"a":0}`,
    'members of one name': `{${times('"a":0,', room)}"a":0}`,
    'empty arrays': `{"username":[${times('[],', room - 40)}[]],"password":"x"}`,
    'numbers by the thousand': `[${times('1,', room)}1]`,
    'a deep array': times('[', room / 2) + times(']', room / 2),
    'a deep object': times('{"a":', room),
    'a long user name': `{"username":"${times('\\u00e9', room - 40)}","password":"x"}`,
    'a long password': `{"username":"alice","password":"${times('é', room / 2 - 40)}"}`,
    'a long number': `{"username":${times('9', room - 40)}}`,
  }).map(([name, body]) => ({ name, headers: json, body }))

const inForms = (room: number): Strain[] =>
  Object.entries({
    fields: numbered((index) => `${index.toString(36)}&`, room),
    'encoded fields': numbered((index) => `%41${index.toString(36)}=%41&`, room),
    'encoded text': `username=${times('%c3%a9', room - 40)}`,
    blanks: `username=${times('+', room - 40)}`,
  }).map(([name, body]) => ({ name, headers: form, body }))

/** Such a request with the form that a client of OAuth sends. */
const besideForm = ({ headers = [], ...strain }: Strain): Strain => ({
  ...strain,
  headers: [...headers, ...form],
  body: 'grant_type=client_credentials&token=a',
})

const inParts = (room: number): Strain[] => [
  {
    name: 'parts by the thousand',
    headers: ['content-type: multipart/form-data; boundary=x'],
    body: numbered((index) => `--x\r\ncontent-disposition: form-data; name="${index}"\r\n\r\n\r\n`, room),
  },
]

const inPath = (): Strain[] =>
  ['a/', '/', '%41', '%'].map((part) => ({ name: `a path of ${part}`, behind: times(part) }))

/** A signature over as large a body as is read, and two digests of it. */
const overBody = (): Strain => ({
  name: 'a signature over a large body',
  headers: [...json, ...ofFields(' "content-digest"'), 'content-digest: sha-256=:AAAA:, sha-512=:AAAA:'],
  body: times('x', bodyRoom),
})

/** A body in chunks of one byte: for each of them Node.js calls back. */
export const inCrumbs = (server: ServerName, line: string): CostlyRequest => {
  const head = [
    `${line} HTTP/1.1`,
    'host: localhost',
    'connection: close',
    ...json,
    'transfer-encoding: chunked',
    '',
    '',
  ]
  return { name: line, server, bytes: `${head.join('\r\n')}${times('1\r\n0\r\n', 6 * bodyRoom)}0\r\n\r\n` }
}

/** Everything, by server and target. */
export const costlyRequests = (): CostlyTarget[] => [
  targetOf('auth', '/me', [...inFields(), ...inQuery(), ...inAuthorization(), ...inOtherFields()]),
  targetOf('deal', '/rest/v1/deals', [...inFields(), ...inQuery(), ...inAuthorization(), ...inOtherFields()]),
  targetOf('deal', '/rest/v1/deals', [...inJson(bodyRoom), overBody()]),
  targetOf('auth', '/problems', inOtherFields()),
  targetOf('auth', '/openapi.json', [...inQuery(), ...inOtherFields()]),
  targetOf('auth', '/internal/feed', [...inAuthorization(), ...inQuery()]),
  targetOf('auth', '/internal/sessions', inJson(bodyRoom)),
  targetOf('auth', '/users', inJson(bodyRoom)),
  ...['/login', '/key-signed-tokens'].map((target) => targetOf('auth', target, inJson(openBodyRoom))),
  targetOf('auth', '/sessions', [...inJson(openBodyRoom), ...inForms(openBodyRoom)]),
  targetOf('auth', '/sessions/current', inForms(openBodyRoom)),
  targetOf('auth', '/account/reset-password', inForms(openBodyRoom)),
  targetOf('auth', '/account/password', [...inForms(openBodyRoom), ...inForms(bodyRoom)]),
  targetOf('deal', '/console/deals/import', [...inForms(openBodyRoom), ...inForms(fileRoom), ...inParts(fileRoom)]),
  ...['/oauth/token', '/oauth/introspect', '/oauth/revoke'].map((target) =>
    targetOf('auth', target, [...inForms(openBodyRoom), ...inAuthorization().map(besideForm)]),
  ),
  ...['/refresh', '/logout'].map((target) => targetOf('auth', target, inAuthorization())),
  ...['/', '/users/', '/.well-known/keys/'].map((target) => targetOf('auth', target, inPath())),
  targetOf('deal', '/rest/v1/deals/', inPath()),
]
