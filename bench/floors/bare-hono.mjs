/**
 * The floor of the deal server: Hono on Node.js with the quickest prepared statement of postgres.js that was found. It
 * knows no caller, log or metric, and checks nothing. `node bare-hono.mjs PORT DATABASE-URL`
 */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import postgres from 'postgres'

const [port, url] = process.argv.slice(2)
/** Reads are quickest when they are pipelined on few connections; commits, when each has its own. */
const reads = postgres(url, { max: 2 })
const commits = postgres(url, { max: 8 })
const app = new Hono()

app.get('/deals/:id', async (c) => {
  const [deal] = await reads`
    select id, name, price, currency, owner_id, status, held, version, created_at::text, updated_at::text
    from deals where id = ${c.req.param('id')}`
  return c.json(deal)
})

app.put('/deals/:id/:verb', async (c) => {
  const { reason = null } = await c.req.json()
  const command = c.req.header('idempotency-key') ?? null
  const isHeld = c.req.param('verb') === 'hold'
  const [{ deal }] = await commits`select hold_deal(${c.req.param('id')}, ${isHeld}, ${reason}, ${command}) as deal`
  return c.json(deal)
})

app.get('/readyz', (c) => c.text('ready'))

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(port) })
