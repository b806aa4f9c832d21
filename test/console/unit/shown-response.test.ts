import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, it, vi } from 'vitest'
import { shownResponse } from '../../../console/frame/console.tsx'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'

const settings = { server: 'deal', publicOrigins: { auth: 'http://auth.test', deal: 'http://deals.test' } } as const

it('shows a page to a client that says that it has it, because nobody keeps one', () => {
  const fields: Readonly<Record<string, string>> = { 'if-none-match': '*' }
  const request = { path: '/console', header: (name: string) => fields[name] } as unknown as HttpRequest
  const shown = { title: 'Deals', content: 'All deals' }
  const { status, headers, body } = shownResponse(settings, { request, caller: undefined, shown })
  expect({ status, caching: headers['cache-control'] }).toEqual({ status: 200, caching: 'no-store' })
  expect(body).toContain('All deals')
  expect(headers).not.toHaveProperty('etag')
})

it('renders outside of any AsyncLocalStorage, which would hook into all promises of the process from then on', () => {
  const run = vi.spyOn(AsyncLocalStorage.prototype, 'run')
  const request = { path: '/console', header: () => undefined } as unknown as HttpRequest
  const shown = { title: 'Deals', content: 'All deals' }
  expect(shownResponse(settings, { request, caller: undefined, shown }).body).toContain('<title>Deals')
  expect(run).not.toHaveBeenCalled()
  run.mockRestore()
})
