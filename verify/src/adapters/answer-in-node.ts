import type { ServerResponse } from 'node:http'
import type { Refusal } from '../verifier/refusal.ts'

/** Answers a refused request. Each line of a field stays a line: clients misread challenges that are joined. */
export function answerInNode({ status, headers, document }: Refusal, response: ServerResponse): void {
  for (const [name, lines] of Object.entries(headers)) response.setHeader(name, lines)
  response.statusCode = status
  response.end(JSON.stringify(document))
}
