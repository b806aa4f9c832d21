/** A page that signs people in with Keyhold: `npm run example:spa`, beside `npm start`. See README.md. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const { AUTH_URL = 'http://127.0.0.1:4000', DEAL_URL = 'http://127.0.0.1:4001', PORT = '4003' } = process.env
const { ADMIN_USERNAME = 'admin', ADMIN_PASSWORD = 'admin-demo-password' } = process.env
const page = `http://127.0.0.1:${PORT}/`

const settings = { authServer: AUTH_URL, dealServer: DEAL_URL, clientId: await register().catch(giveUp), page }
const here = (name: string) => readFileSync(join(import.meta.dirname, name))
const library = createRequire(import.meta.url).resolve('oauth4webapi')
const files = new Map<string, readonly [type: string, body: string | Buffer]>([
  ['/', ['text/html; charset=utf-8', here('index.html')]],
  ['/app.js', ['text/javascript', here('app.js')]],
  ['/oauth4webapi.js', ['text/javascript', readFileSync(library)]],
  ['/settings.js', ['text/javascript', `export default ${JSON.stringify(settings)}`]],
])
const server = createServer((request, response) => {
  const [type, body] = files.get(new URL(request.url ?? '/', page).pathname) ?? []
  if (type === undefined) response.writeHead(404).end()
  else response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
})
server.listen(Number(PORT), '127.0.0.1', () => process.stdout.write(`The page is at ${page}\n`))
server.on('error', giveUp)

/** What an administrator does once for a new application: the id of its client. */
async function register(): Promise<string> {
  const authorization = `Basic ${Buffer.from(`${ADMIN_USERNAME}:${ADMIN_PASSWORD}`).toString('base64')}`
  const call = async (method: string, body?: object) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const response = await fetch(`${AUTH_URL}/clients`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    return (await response.json()) as Answer
  }
  const name = `Example page at ${page}`
  const uris = { redirectUris: [page], postLogoutRedirectUris: [page] }
  const made = await call('POST', { name, kind: 'public', firstParty: true, ...uris, password: ADMIN_PASSWORD })
  const found = made.id ?? (await call('GET')).items?.find((client) => client.name === name)?.id
  if (found === undefined) throw new Error(`the client was not registered: ${made.detail}`)
  return found
}

interface Answer {
  readonly id?: string
  readonly items?: readonly { readonly id: string; readonly name: string }[]
  readonly detail?: string
}

function giveUp(error: Error): never {
  process.stderr.write(`${error.cause instanceof Error ? `${AUTH_URL}: ${error.cause.message}` : error.message}\n`)
  process.exit(1)
}
