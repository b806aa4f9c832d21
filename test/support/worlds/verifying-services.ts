/** Services of strangers, one on each framework, that verify their callers by `keyhold-verify`. */
import { serve } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import * as expressAdapter from '../../../verify/src/adapters/express.ts'
import * as fastifyAdapter from '../../../verify/src/adapters/fastify.ts'
import * as honoAdapter from '../../../verify/src/adapters/hono.ts'
import { type Caller, createVerifier, type Verifier, type VerifierOptions } from '../../../verify/src/index.ts'
import { freePort } from '../processes/free-port.ts'
import { type TestServer, testServer } from './stack.ts'

/** A service that listens. */
export interface VerifyingService extends TestServer {
  readonly framework: Framework
}

/** The right that `/guarded` needs. */
export const guardingRight = 'deal.read'

const described = ({ username, scheme, rights }: Caller) => ({ username, scheme, rights: [...rights].sort() })

/** A service: `/me` tells the caller, `/rest/v1/deals` needs a right, `/guarded` also gives the JSON body back. */
type Start = (verifier: Verifier, port: number) => Promise<() => Promise<unknown>>

const startHono: Start = async (verifier, port) => {
  const app = new Hono()
  app.use(honoAdapter.authenticate(verifier))
  app.get('/me', (c) => c.json(described(c.get('caller'))))
  app.get('/rest/v1/deals', honoAdapter.requireRight(guardingRight), (c) => c.json({ items: [] }))
  app.post('/guarded', honoAdapter.requireRight(guardingRight), async (c) => c.json(await c.req.json()))
  const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' })
  return () => new Promise((resolve) => server.close(resolve))
}

const startExpress: Start = async (verifier, port) => {
  const app = express()
  const router = express.Router()
  router.use(expressAdapter.authenticate(verifier))
  router.use(express.json())
  router.get('/me', (request, response) => void response.json(described(request.caller)))
  router.get('/rest/v1/deals', expressAdapter.requireRight(guardingRight), (_request, response) => {
    response.json({ items: [] })
  })
  router.post('/guarded', expressAdapter.requireRight(guardingRight), (request, response) => {
    response.json(request.body)
  })
  app.use('/', router)
  const server = app.listen(port, '127.0.0.1')
  return () => new Promise((resolve) => server.close(resolve))
}

const startFastify: Start = async (verifier, port) => {
  const app = fastify()
  await app.register(fastifyAdapter.authenticate(verifier))
  app.get('/me', async (request) => described(request.caller))
  app.get('/rest/v1/deals', { onRequest: fastifyAdapter.requireRight(guardingRight) }, async () => ({ items: [] }))
  app.post('/guarded', { onRequest: fastifyAdapter.requireRight(guardingRight) }, async (request) => request.body)
  await app.listen({ port, host: '127.0.0.1' })
  return () => app.close()
}

const starts = { hono: startHono, express: startExpress, fastify: startFastify }

/** A framework that has an adapter. */
export type Framework = keyof typeof starts

/** The frameworks that have an adapter. */
export const frameworks = Object.keys(starts) as Framework[]

/** Services that share a verifier. */
export interface VerifyingServices {
  readonly verifier: Verifier
  readonly services: readonly VerifyingService[]
  /** The messages of the log of the verifier. */
  readonly messages: readonly string[]
  close(): Promise<void>
}

/** One of these services, where the framework does not matter. */
export function firstService({ services: [service] }: VerifyingServices): VerifyingService {
  if (!service) throw new TypeError('there is no service')
  return service
}

/** Starts a service on each framework. Waits for nothing else. */
export async function startVerifyingServices(options: VerifierOptions): Promise<VerifyingServices> {
  const messages: string[] = []
  const write = (_details: object, message: string) => void messages.push(message)
  const log = { debug: () => undefined, info: write, warn: write, error: write }
  const verifier = createVerifier({ log, ...options })
  const closing: (() => Promise<unknown>)[] = []
  const services: VerifyingService[] = []
  for (const framework of frameworks) {
    const port = await freePort()
    closing.push(await starts[framework](verifier, port))
    services.push({ ...testServer(port), framework })
  }
  return {
    verifier,
    services,
    messages,
    close: async () => {
      await verifier.stop()
      await Promise.all(closing.map((close) => close()))
    },
  }
}
