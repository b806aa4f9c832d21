/** The client sends back what it has seen, so that reads on replicas show it nothing older. */
import { describe, expect, it } from 'vitest'
import { createKeyhold } from '../../client/src/index.ts'

const token = (position: number, database = 'aaaaaaaa') => `00000001.${String(position).padStart(16, '0')}.${database}`

/** A client whose requests are answered with these tokens, in order, and what it sent. */
function talk(answers: readonly (string | undefined)[]) {
  const sent: (string | null)[] = []
  let next = 0
  const fetch: typeof globalThis.fetch = async (_input, init) => {
    sent.push(new Headers(init?.headers).get('keyhold-seen'))
    const answer = answers[next++]
    return new Response('{}', { headers: answer === undefined ? {} : { 'keyhold-seen': answer } })
  }
  const client = createKeyhold({ authUrl: 'http://auth.test', dealUrl: 'http://deals.test', fetch })
  return { client, sent }
}

describe('what a client has seen', () => {
  it('goes along with its next requests to the deal server alone', async () => {
    const { client, sent } = talk([token(5), undefined, undefined])
    await client.fetch('deal', '/rest/v1/deals')
    await client.fetch('auth', '/me')
    await client.fetch('deal', '/rest/v1/deals')
    expect(sent).toEqual([null, null, token(5)])
  })

  it('grows, and begins anew with another database', async () => {
    const { client, sent } = talk([token(5), token(4), token(3, 'bbbbbbbb'), undefined])
    for (let read = 0; read < 4; read += 1) await client.fetch('deal', '/rest/v1/deals')
    expect(sent).toEqual([null, token(5), token(5), token(3, 'bbbbbbbb')])
  })

  it('is forgotten after a batch, and for good after live events', async () => {
    const { client, sent } = talk([token(5), undefined, token(6), undefined, token(7), undefined])
    await client.fetch('deal', '/rest/v1/deals')
    await client.fetch('deal', '/commands', { method: 'POST', body: '[]' })
    await client.fetch('deal', '/rest/v1/deals')
    await client.fetch('deal', '/rest/v1/events', { isStream: true })
    await client.fetch('deal', '/rest/v1/deals')
    await client.fetch('deal', '/rest/v1/deals')
    expect(sent).toEqual([null, token(5), null, token(6), null, null])
  })
})
