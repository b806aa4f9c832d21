import { randomUUID } from 'node:crypto'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import * as z from 'zod'
// Outside this repository: `from 'keyhold-verify'` and `from 'keyhold-verify/hono'`.
import { authenticate, requireRight } from '../../verify/src/adapters/hono.ts'
import type { Verifier } from '../../verify/src/index.ts'

interface Invoice {
  readonly id: string
  readonly customer: string
  /** In cents. */
  readonly amount: number
  readonly createdBy: string
  readonly approvedBy: string | null
}

const newInvoice = z.strictObject({
  customer: z.string().min(1).max(200),
  amount: z.int().min(1).max(1_000_000_000),
})

/** The most invoices that are kept: they are in memory alone. */
const maxInvoices = 10_000

const problem = (status: number, code: string, detail: string): Response =>
  Response.json({ status, code, detail }, { status, headers: { 'content-type': 'application/problem+json' } })

/** The service: invoices that are created by some and approved by others. */
export function createApp(verifier: Verifier): Hono {
  const invoices = new Map<string, Invoice>()
  const app = new Hono()
  app.use(authenticate(verifier))
  app.use(bodyLimit({ maxSize: 16_384, onError: () => problem(413, 'too-large', 'A body has at most 16 KiB.') }))

  app.get('/invoices', requireRight('invoice.read'), (c) => c.json({ items: [...invoices.values()] }))

  app.get('/invoices/:id', requireRight('invoice.read'), (c) => {
    const invoice = invoices.get(c.req.param('id'))
    return invoice ? c.json(invoice) : problem(404, 'not-found', 'There is no such invoice.')
  })

  app.post('/invoices', requireRight('invoice.create'), async (c) => {
    const body = newInvoice.safeParse(await c.req.json().catch(() => undefined))
    if (!body.success) return problem(422, 'invalid-invoice', 'Expected {"customer": "a name", "amount": cents}.')
    if (invoices.size >= maxInvoices) return problem(409, 'too-many-invoices', `There can be ${maxInvoices}.`)
    const invoice = { id: randomUUID(), ...body.data, createdBy: c.get('caller').username, approvedBy: null }
    invoices.set(invoice.id, invoice)
    return c.json(invoice, 201, { location: `/invoices/${invoice.id}` })
  })

  app.post('/invoices/:id/approve', requireRight('invoice.approve'), (c) => {
    const { username } = c.get('caller')
    const invoice = invoices.get(c.req.param('id'))
    if (!invoice) return problem(404, 'not-found', 'There is no such invoice.')
    if (invoice.createdBy === username) return problem(409, 'own-invoice', 'Another user must approve this invoice.')
    const approved = { ...invoice, approvedBy: invoice.approvedBy ?? username }
    invoices.set(invoice.id, approved)
    return c.json(approved)
  })

  app.notFound(() => problem(404, 'not-found', 'There is no such page.'))
  return app
}
