/** Plain calls of tools are answered without the library: as the library would answer them. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { plainCallOf, plainResponse } from '../../../deal-server/http/mcp/plain-call.ts'
import { serveMessage } from '../../../deal-server/http/mcp/serve.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'

const revision = '2026-07-28'
const fields = (name: string): Record<string, string> => ({
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
  'mcp-protocol-version': revision,
  'mcp-method': 'tools/call',
  'mcp-name': name,
})
const requestWith = (headers: Record<string, string>) => ({ header: (name: string) => headers[name] }) as HttpRequest
const meta = {
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1', title: 'Test' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  progressToken: 7,
}
const callOf = (id: unknown, name: string, values: unknown, _meta: object = meta) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: values, _meta },
})

const json = fc.dictionary(fc.string(), fc.jsonValue())

it('a plain call is answered as the library answers it', async () => {
  const isAnsweredAlike = fc.asyncProperty(
    fc.oneof(fc.string(), fc.integer()),
    json,
    json,
    fc.boolean(),
    async (id, values, value, isError) => {
      const message = callOf(id, 'hold_deal', values)
      const request = requestWith(fields('hold_deal'))
      const plain = plainCallOf(message, request)
      if (!plain) throw new TypeError('the call is a plain one')
      const call = async () => ({ value, isError })
      const [own, other] = [
        plainResponse(plain, { value, isError }),
        await serveMessage(message, request, { tools: [], call }),
      ]
      expect(own).toEqual(other)
    },
  )
  await fc.assert(isAnsweredAlike, { numRuns: 50 })
})

const odd: readonly [string, object, Record<string, string>][] = [
  ['of an older revision', callOf(1, 'a', {}), { 'mcp-protocol-version': '2025-11-25' }],
  ['whose header fields name another tool', callOf(1, 'a', {}), { 'mcp-name': 'b' }],
  ['that accepts no JSON', callOf(1, 'a', {}), { accept: 'text/html' }],
  ['without an envelope', callOf(1, 'a', {}, {}), {}],
  ['without an id', { ...callOf(1, 'a', {}), id: undefined }, {}],
  ['with an id of another type', callOf(null, 'a', {}), {}],
  ['with arguments in a list', callOf(1, 'a', []), {}],
  ['with members that are not known', { ...callOf(1, 'a', {}), more: 1 }, {}],
  ['of another method', { ...callOf(1, 'a', {}), method: 'tools/list' }, {}],
]
it.each(odd)('a message %s goes to the library', (_, message, headers) => {
  expect(plainCallOf(message, requestWith({ ...fields('a'), ...headers }))).toBeUndefined()
})
