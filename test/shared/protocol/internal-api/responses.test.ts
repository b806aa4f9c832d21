import { expect, it } from 'vitest'
import {
  type AnsweredInternalRequest,
  type InternalResponseFacts,
  internalMacHeader,
  isInternalResponse,
  macOfInternalResponse,
} from '../../../../shared/protocol/internal-api/responses.ts'

const request: AnsweredInternalRequest = { secret: 'a service secret of 32 characters or more', nonce: 'n'.repeat(24) }
const fields = { 'keyhold-installation': 'one', 'keyhold-keys': 'a.b' }

const answer = (
  changes: { status?: number; body?: string; fields?: Record<string, string> } = {},
): Omit<InternalResponseFacts, 'header'> & { fields: Record<string, string> } => ({
  status: 200,
  body: '{"enabled":true}',
  fields,
  ...changes,
})

const facts = ({ fields: all, ...rest }: ReturnType<typeof answer>): InternalResponseFacts => ({
  ...rest,
  header: (name) => all[name] ?? null,
})

const mac = macOfInternalResponse(facts(answer()), request)
const isAccepted = (changed: ReturnType<typeof answer>, received = mac, of = request): boolean =>
  isInternalResponse(facts({ ...changed, fields: { ...changed.fields, [internalMacHeader]: received } }), of)

it('is accepted as it was made', () => {
  expect(isAccepted(answer())).toBe(true)
})

it.each([
  ['another status', answer({ status: 404 })],
  ['another body', answer({ body: '{"enabled":false}' })],
  ['no body', answer({ body: '' })],
  ['another instance', answer({ fields: { ...fields, 'keyhold-installation': 'two' } })],
  ['other keys', answer({ fields: { ...fields, 'keyhold-keys': 'a.c' } })],
  ['fewer fields', answer({ fields: {} })],
])('is not accepted with %s', (_what, changed) => {
  expect(isAccepted(changed)).toBe(false)
})

it.each([
  ['another request', { ...request, nonce: 'm'.repeat(24) }],
  ['another secret', { ...request, secret: 'another service secret of 32 characters' }],
])('is not accepted for %s', (_what, of) => {
  expect(isAccepted(answer(), mac, of)).toBe(false)
})

it.each(['', 'x', mac.slice(1), `${mac}AAAA`])('is not accepted with the MAC %j', (received) => {
  expect(isAccepted(answer(), received)).toBe(false)
})

it('is not accepted without a MAC', () => {
  expect(isInternalResponse(facts(answer()), request)).toBe(false)
})
