/**
 * The floor of the deal server: Hono on Node.js with one prepared statement of postgres.js for each request. It knows
 * no caller, log or metric, and checks nothing. `node bare-hono.mjs PORT DATABASE-URL`
 */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import postgres from 'postgres'

const [port, url] = process.argv.slice(2)
/** Reads are quickest when they are pipelined on few connections; commits, when each has its own. */
const reads = postgres(url, { max: 2 })
/** Idle ones end: PostgreSQL has 100 connections by default, and other measurements need them. */
const commits = postgres(url, { max: 32, idle_timeout: 20 })
const app = new Hono()

app.get('/deals/:id', async (c) => {
  const [deal] = await reads`select * from deals where id = ${c.req.param('id')}`
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
