/** Calls of tools (MCP), as one more style: answers take the form of those of the other styles. */
import { randomUUID } from 'node:crypto'
import { decodeJwt, SignJWT } from 'jose'
import { preparedKeysDir } from '../processes/prepared-keys.ts'
import { activeKey } from '../worlds/ring-keys.ts'
import type { TestServer } from '../worlds/stack.ts'
import { membersOf, type Reply, rememberSecret, type Sent } from './http-client.ts'

type Members = Readonly<Record<string, unknown>>

/** The path of tools. */
export const toolPath = '/mcp'

/** Sends one message of the present revision. */
export const sendMessage = (
  server: TestServer,
  token: string,
  method: string,
  params: Members = {},
  more: Readonly<Record<string, string>> = {},
): Promise<Reply> =>
  server.send(toolPath, {
    token,
    json: {
      jsonrpc: '2.0',
      ...(!method.startsWith('notifications/') && { id: 1 }),
      method,
      params: { ...params, _meta: envelope },
    },
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': revision,
      'mcp-method': method,
      ...(typeof params.name === 'string' && { 'mcp-name': params.name }),
      ...more,
    },
  })

const revision = '2026-07-28'
const envelope = {
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** A call as the other styles send a command: a tool, its arguments, and header fields as options. */
export async function callTool(server: TestServer, token: string, { path, sent }: { path: string; sent: Sent }) {
  const { name, arguments: values } = sent.json as { name: string; arguments: Members }
  const [key, ifMatch] = [sent.headers?.['idempotency-key'], sent.headers?.['if-match']]
  const reply = await sendMessage(server, await asApplication(token), 'tools/call', {
    name,
    arguments: {
      ...values,
      ...(key !== undefined && { commandId: key }),
      ...(ifMatch !== undefined && { ifMatch }),
      ...(path.endsWith('?validateOnly=true') && { validateOnly: true }),
    },
  })
  return asReply(reply)
}

/** The result of a call in the form of a reply of another style; any other reply as it is. */
export function asReply(reply: Reply): Reply {
  const { result } = reply.body as { result?: { structuredContent: Members; isError?: boolean } }
  if (!result) return reply
  const { replayed, validateOnly, ...body } = result.structuredContent
  const version = (body.current as Members | undefined)?.version
  const fields = {
    'content-type': result.isError ? 'application/problem+json' : 'application/json',
    'cache-control': reply.headers.get('cache-control'),
    'x-request-id': reply.headers.get('x-request-id'),
    etag: body.etag ?? (version === undefined ? undefined : `"${version}"`),
    'deal-changed': body.changed,
    'idempotent-replayed': replayed ? 'true' : reply.headers.get('idempotent-replayed'),
    'deal-validated-only': validateOnly ? 'true' : undefined,
  }
  const given = Object.entries(fields).flatMap(([name, value]) => (value == null ? [] : [[name, String(value)]]))
  const text = JSON.stringify(body)
  const status = result.isError ? Number(body.status) : 200
  return { status, headers: new Headers(Object.fromEntries(given)), text, body: membersOf(text) }
}

const known = new Map<string, Promise<string>>()

/** The same access token, as if an application had got it. */
export function asApplication(token: string, more: Members = {}): Promise<string> {
  const name = token + JSON.stringify(more)
  const made = known.get(name) ?? sign({ ...decodeJwt(token), client_id: randomUUID(), ...more })
  known.set(name, made)
  return made
}

async function sign(claims: Members): Promise<string> {
  const { kid, privateKey } = activeKey(await preparedKeysDir(), 'jwt')
  const token = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid }).sign(privateKey)
  rememberSecret(token)
  return token
}
