/** better-auth with sessions in PostgreSQL. `node better-auth.mjs PORT DATABASE-URL` */
import { createServer } from 'node:http'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { toNodeHandler } from 'better-auth/node'
import pg from 'pg'

const [port, url] = process.argv.slice(2)
const auth = betterAuth({
  baseURL: `http://127.0.0.1:${port}`,
  secret: 'the secret of the benchmark, which is long enough',
  database: new pg.Pool({ connectionString: url, max: 20 }),
  emailAndPassword: { enabled: true },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
})
await (await getMigrations(auth.options)).runMigrations()

const handle = toNodeHandler(auth)
const server = createServer((request, response) =>
  request.url === '/readyz' ? response.end('ready') : handle(request, response),
)
server.listen(Number(port), '127.0.0.1')
