import type { Stack, TestServer } from '../../worlds/stack.ts'
import { type Reply, type Sent, send } from '../http-client.ts'
import type { StyleRequest } from '../style-clients.ts'
import { callTool, toolPath } from '../tool-calls.ts'
import type { PlainRequest, SchemeClient } from './scheme-client.ts'

/** Sends requests of one user to one server, each with a credential of one scheme. */
export type SendWith = (server: TestServer, request: StyleRequest) => Promise<Reply>

/** Gets what the user needs for the scheme. */
export async function openSender(client: SchemeClient, stack: Stack, username: string): Promise<SendWith> {
  const credential = await client.open(stack, username)
  return async (server, { path, sent }) => {
    const plain = plainOf(server.url + path, sent)
    const { url, headers } = await credential(plain)
    // Only access tokens reach tools.
    const [, token] = headers.authorization?.split('Bearer ') ?? []
    if (path.startsWith(toolPath) && token !== undefined) return callTool(server, token, { path, sent })
    const type = plain.body === undefined ? {} : { 'content-type': 'application/json' }
    const body = plain.body === undefined ? {} : { body: plain.body }
    return send(url, { method: plain.method, headers: { ...type, ...sent.headers, ...headers }, ...body })
  }
}

function plainOf(url: string, { method, json, body }: Sent): PlainRequest {
  const text = json === undefined ? body : JSON.stringify(json)
  const defaultMethod = text === undefined ? 'GET' : 'POST'
  return { method: method ?? defaultMethod, url, ...(text === undefined ? {} : { body: String(text) }) }
}
