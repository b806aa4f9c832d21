// Usage: smoke.mjs <path of a Node.js program>. Shows that the servers run under this Node.js: starts both with a new
// data folder, logs in,
// holds a deal, and stops them. Exits with 1 when one of these fails.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const [program = process.execPath] = process.argv.slice(2)
const patienceMs = 120_000
/** Idle connections end after a second, the others are cut after ten. */
const stopMs = 8_000

const folder = mkdtempSync(join(tmpdir(), 'keyhold-smoke-'))
const [AUTH_PORT, DEAL_PORT] = await Promise.all([freePort(), freePort()])
const child = spawn(program, ['scripts/run.mjs', 'start.ts'], {
  cwd: fileURLToPath(new URL('../', import.meta.url)),
  env: { PATH: process.env.PATH, DATA_DIR: folder, KEYS_DIR: join(folder, 'keys'), AUTH_PORT, DEAL_PORT },
  stdio: ['ignore', 'pipe', 'pipe'],
})
let output = ''
for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
const ended = once(child, 'exit')

try {
  await isRunning()
  const token = await logIn()
  await holdDeal(token)
  const stoppedAt = performance.now()
  child.kill('SIGTERM')
  const [code] = await ended
  assert.equal(code, 0)
  assert.ok(performance.now() - stoppedAt < stopMs, 'the servers took long to stop')
  console.log(`${program}: started, logged in, held a deal, stopped.`)
} catch (error) {
  console.error(`${program}:`, error, `\n${output}`)
  process.exitCode = 1
} finally {
  child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

async function freePort() {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return String(port)
}

async function isRunning() {
  for (const end = performance.now() + patienceMs; performance.now() < end; await sleep(50)) {
    if (output.includes('Keyhold is running.')) return
    assert.equal(child.exitCode, null, 'the process has ended')
  }
  assert.fail('the servers did not start')
}

/** @returns {Promise<string>} the access token of a user of the demo */
async function logIn() {
  const { users } = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'))
  const { username, password } = users.find((user) => user.username === 'alice')
  const answer = await send(`http://127.0.0.1:${AUTH_PORT}/login`, { json: { username, password } })
  assert.equal(answer.status, 200)
  return (await answer.json()).access_token
}

/** @param {string} token */
async function holdDeal(token) {
  const deals = `http://127.0.0.1:${DEAL_PORT}/rest/v1/deals/`
  const created = await send(deals, { token, json: { name: 'smoke', price: 1234 } })
  assert.equal(created.status, 201)
  const deal = new URL(created.headers.get('location'), deals).href
  const held = await send(`${deal}/hold`, { token, method: 'PUT', json: { reason: 'smoke' } })
  assert.ok(held.ok, `holding the deal answered ${held.status}`)
  const read = await send(deal, { token, method: 'GET' })
  assert.equal((await read.json()).version, 2)
}

function send(url, { method = 'POST', token, json }) {
  return fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    ...(json && { body: JSON.stringify(json) }),
  })
}
