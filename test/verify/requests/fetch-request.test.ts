import { describe, expect, it } from 'vitest'
import { receivedByFetch } from '../../../verify/src/requests/fetch-request.ts'

const received = (url: string, init: RequestInit = {}) => receivedByFetch(new Request(url, init), 10)

describe('a request of the Fetch Standard', () => {
  it.each([
    ['https://a.test', '/'],
    ['https://a.test?b=1', '/?b=1'],
    ['https://a.test:444/b/c?d=e%20f&g', '/b/c?d=e%20f&g'],
    ['https://a.test/b#c', '/b'],
    ['https://a.test/b?c=//d?e', '/b?c=//d?e'],
  ])('%s has the target %s', (url, target) => {
    expect(received(url).target).toBe(target)
  })

  it('has its fields under names in lower case', () => {
    const { header, headerLines } = received('https://a.test', { headers: { 'X-A': '1' } })
    expect([header('x-a'), header('x-b'), headerLines('x-a'), headerLines('x-b')]).toEqual(['1', undefined, ['1'], []])
  })

  it('leaves its body to others', async () => {
    const request = new Request('https://a.test', { method: 'POST', body: 'a body' })
    expect((await receivedByFetch(request, 10).readBody()).toString()).toBe('a body')
    expect(await request.text()).toBe('a body')
    expect(await received('https://a.test').readBody()).toHaveLength(0)
  })

  it('refuses a body that is too large or breaks off, and says that one was read before', async () => {
    const large = received('https://a.test', { method: 'POST', body: 'eleven bytes' })
    await expect(large.readBody()).rejects.toMatchObject({ code: 'body-too-large' })
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) })
    const gone = received('https://a.test', { method: 'POST', body: broken, duplex: 'half' } as RequestInit)
    await expect(gone.readBody()).rejects.toMatchObject({ code: 'malformed-request' })
    const request = new Request('https://a.test', { method: 'POST', body: 'read' })
    await request.text()
    await expect(receivedByFetch(request, 10).readBody()).rejects.toThrow(TypeError)
  })
})
