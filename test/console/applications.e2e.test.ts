import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  answerOf,
  codeOf,
  exchange,
  newVerifier,
  registerClient,
  requestOf,
  signedInBrowser,
} from '../support/clients/sign-in/applications.ts'
import { hiddenFields } from '../support/clients/sign-in/browser.ts'
import { describeEmbedded } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'

let stack: Stack

describeEmbedded('the pages about applications', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
  })
  afterAll(() => stack.close())

  it('list what the reader has let applications do, and take it back', async () => {
    const client = await registerClient(stack, { name: 'Ledger', firstParty: false, rights: ['deal.read'] })
    const browser = await signedInBrowser(stack, 'alice')
    expect((await browser.go('/account/applications')).reply.text).toContain('There are no applications.')
    const { verifier, challenge } = newVerifier()
    const asked = requestOf(client, { code_challenge: challenge, scope: 'openid deal.read' })
    const page = await browser.go(`/oauth/authorize?${asked}`)
    const decided = await browser.go('/oauth/authorize/decision', {
      ...hiddenFields(page.reply.text),
      decision: 'allow',
    })
    await exchange(stack, client, { code: answerOf(decided).code ?? '', verifier })
    const list = await browser.go('/account/applications')
    expect(list.reply.text).toContain('Ledger')
    expect(list.reply.text).toContain('deal.read')
    expect((await browser.go('/account/sessions')).reply.text).toContain('Ledger')
    const after = await browser.go('/account/applications', { client: client.id })
    expect(after.reply.text).toContain('The application can do nothing any more.')
    expect(after.reply.text).toContain('There are no applications.')
    expect((await browser.go('/account/sessions')).reply.text).not.toContain('Ledger')
  })

  it('show a wrong request of an application instead of a problem document', async () => {
    const browser = await signedInBrowser(stack, 'bob')
    const { reply } = await browser.go('/oauth/authorize?client_id=nobody')
    expect(reply.status).toBe(400)
    expect(reply.headers.get('content-type')).toContain('text/html')
    expect(reply.text).toContain('The request of the application is not right')
    const own = await registerClient(stack, { name: 'Own <b>shop</b>' })
    await codeOf(browser, own)
    expect((await browser.go('/account/sessions')).reply.text).not.toContain('<b>shop</b>')
  })
})
