/** `npx keyhold api` against a server of somebody else, or one with a gateway in front. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openLoginFile, tokenStoreOf } from '../../cli/login/login-file.ts'
import { freePort } from '../support/processes/free-port.ts'
import { runKeyholdWith } from './run-keyhold.ts'

const tokens = { accessToken: 'a', refreshToken: 'r', expiresAt: 9e12, refreshExpiresAt: 9e12 }
let server: Server
let home: string
let requests = 0
let answer: (response: ServerResponse, path: string) => void

beforeAll(async () => {
  server = createServer(({ url = '' }, response) => {
    requests += 1
    answer(response, url)
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${port}`
  home = mkdtempSync(join(tmpdir(), 'keyhold-answers-'))
  mkdirSync(join(home, 'keyhold', 'default'), { recursive: true })
  const login = { authUrl: url, dealUrl: url, username: 'alice', tokens }
  writeFileSync(join(home, 'keyhold', 'default', 'login.json'), JSON.stringify(login))
})

afterAll(() => {
  server.close()
  rmSync(home, { recursive: true, force: true })
})

const run = (line: string, isTerminal = false) => runKeyholdWith({ XDG_CONFIG_HOME: home }, line, { isTerminal })

function answers(body: string, headers: Readonly<Record<string, string>> = {}, status = 200) {
  requests = 0
  answer = (response) => void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
}

it('names of members, items of pages and header fields do not control the terminal', async () => {
  const pem = '-----BEGIN KEY-----\nAAAA\n-----END KEY-----\n'
  answers(JSON.stringify({ 'a\u001b[2J': pem }))
  expect((await run('api GET /users/bob')).output).toBe(`\na [2J\n${pem}`)
  answers(JSON.stringify({ items: [{ name: 'a\u009b31m\u202e' }] }), { 'x-name': 'a\u009b31m' })
  expect((await run('--json api GET /users --all', true)).output).toBe('{"name":"a\\u009b31m\\u202e"}\n')
  expect((await run('--json api HEAD /users', true)).output).toContain('"x-name": "a\\u009b31m"')
})

it.each(['{"a":1}', '[null]', '["no"]', '[{"pointer":{},"message":1}]'])('errors of a gateway: %s', async (errors) => {
  answers(`{"detail":"No.","errors":${errors}}`, {}, 400)
  expect(await run('api GET /users')).toEqual({ code: 1, output: '', errors: 'Refused: No. (no-problem-document)\n' })
})

it('a body that is too deep to be shown is a failure with a sentence', async () => {
  answers(`{"items":[{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}]}`)
  for (const line of ['api GET /users', 'api GET /users --all', '--json api GET /users --all']) {
    expect(await run(line)).toMatchObject({ code: 1, errors: expect.stringContaining('too deep') })
  }
})

it.each(['</users?after=1>', '</users>'])('a page that leads to itself again ends --all: %s', async (link) => {
  answers('{"items":[{"a":1}]}', { link: `${link}; rel="next"` })
  expect((await run('api GET /users --all')).errors).toBe('Failed: The server gives the same page again and again.\n')
  expect(requests).toBeLessThan(3)
})

it('warns of nothing after thousands of pages', async () => {
  const warnings: Error[] = []
  const warned = (warning: Error) => void warnings.push(warning)
  process.on('warning', warned)
  answer = (response, path) => {
    const page = Number(/\d+/.exec(path)?.[0] ?? 0) + 1
    const link = page < 1600 ? { link: `</users?after=${page}>; rel="next"` } : {}
    response.writeHead(200, { 'content-type': 'application/json', ...link }).end('[1]')
  }
  expect((await run('--json api GET /users --all')).output).toBe('1\n'.repeat(1600))
  process.off('warning', warned)
  expect(warnings).toEqual([])
})

it('tokens of a login at other servers, or of somebody else, are not taken, and stay', async () => {
  const file = openLoginFile(home, 'other')
  const login = { authUrl: 'https://a.test', dealUrl: 'https://d.test', username: 'alice', tokens }
  const store = tokenStoreOf(file, login)
  await file.write(login)
  expect(await store.read()).toEqual(tokens)
  const others = [{ authUrl: 'https://evil.test' }, { dealUrl: 'https://evil.test' }, { username: 'bob' }]
  for (const other of others) {
    await file.write({ ...login, ...other })
    expect(await store.read()).toBeUndefined()
    await store.write(undefined)
    expect(await file.read()).toEqual({ ...login, ...other })
  }
})
