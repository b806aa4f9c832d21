/** An API of its own whose callers Keyhold verifies: `npm run example:invoices`, beside `npm start`. See README.md. */
import { serve } from '@hono/node-server'
// Outside this repository: `from 'keyhold-verify'`.
import { createVerifier } from '../../verify/src/index.ts'
import { createApp } from './app.ts'
import { audience, register } from './register.ts'

const { AUTH_URL = 'http://127.0.0.1:4000', PORT = '4002' } = process.env
const { ADMIN_USERNAME: username = 'admin', ADMIN_PASSWORD: password = 'admin-demo-password' } = process.env

const service = await register(AUTH_URL, { username, password }).catch(giveUp)
const origin = `http://127.0.0.1:${PORT}`
const verifier = createVerifier({ authServer: AUTH_URL, service, audience, origin })
await verifier.ready().catch(giveUp)
const server = serve({ fetch: createApp(verifier).fetch, hostname: '127.0.0.1', port: Number(PORT) }, () =>
  process.stdout.write(`Invoices listen on ${origin}.\n`),
)
server.on('error', giveUp)
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    void verifier.stop()
    server.close()
  })

function giveUp(error: Error): never {
  const text = error.cause instanceof Error ? `${AUTH_URL}: ${error.cause.message}` : error.message
  process.stderr.write(`${text}\n`)
  process.exit(1)
}
