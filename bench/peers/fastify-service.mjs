/**
 * A service for deals as one writes it on a good day: fastify, jose and pg. It takes access tokens of Keyhold.
 * `node fastify-service.mjs PORT DATABASE-URL AUTH-SERVER`
 */
import Fastify from 'fastify'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import pg from 'pg'

const [port, url, issuer] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: url, max: 20 })
const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', issuer))
const app = Fastify({ logger: true })

const holdSchema = { type: 'object', properties: { reason: { type: 'string', maxLength: 1000 } } }
const paramsSchema = { type: 'object', properties: { id: { type: 'string', format: 'uuid' } } }

app.get('/readyz', async () => 'ready')

app.register(async (deals) => {
  deals.addHook('onRequest', async (request, reply) => {
    const [, token = ''] = (request.headers.authorization ?? '').split(' ')
    try {
      const { payload } = await jwtVerify(token, keys, { issuer, audience: 'deals', typ: 'at+jwt' })
      request.user = payload.sub
    } catch {
      return reply.code(401).send({ code: 'unauthorized' })
    }
  })

  deals.get('/deals/:id', { schema: { params: paramsSchema } }, async (request, reply) => {
    const text = 'select * from deals where id = $1'
    const { rows } = await pool.query({ name: 'deal', text, values: [request.params.id] })
    return rows[0] ?? reply.code(404).send({ code: 'not-found' })
  })

  for (const [verb, isHeld] of [
    ['hold', true],
    ['unhold', false],
  ]) {
    deals.put(`/deals/:id/${verb}`, { schema: { params: paramsSchema, body: holdSchema } }, async (request, reply) => {
      const deal = await inTransaction((query) => hold(query, request, isHeld))
      return deal ?? reply.code(404).send({ code: 'not-found' })
    })
  }
})

/** Six round trips with the beginning and the end of the transaction. */
async function hold(query, { params, body, headers, user }, isHeld) {
  const found = await query('lock', 'select * from deals where id = $1 for update', [params.id])
  if (found === undefined || found.held === isHeld) return found
  const deal = await query(
    'update',
    `update deals set held = $2, hold_reason = $3, version = version + 1, updated_at = now(), updated_by = $4
     where id = $1 returning *`,
    [params.id, isHeld, body.reason ?? null, user],
  )
  await query(
    'event',
    'insert into events (deal_id, version, type, data, occurred_at) values ($1, $2, $3, $4, now())',
    [params.id, deal.version, isHeld ? 'deal.held' : 'deal.unheld', JSON.stringify(body)],
  )
  await query(
    'command',
    `insert into commands (id, deal_id, outcome, expires_at) values ($1, $2, $3, now() + interval '1 day')`,
    [headers['idempotency-key'] ?? crypto.randomUUID(), params.id, JSON.stringify(deal)],
  )
  return deal
}

async function inTransaction(work) {
  const client = await pool.connect()
  const query = async (name, text, values) => (await client.query({ name, text, values })).rows[0]
  try {
    await client.query('begin')
    const result = await work(query)
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

await app.listen({ host: '127.0.0.1', port: Number(port) })
