/** Users, applications, codes and logins as they should be, beside those of a stack. */
import { decodeJwt } from 'jose'
import { expect } from 'vitest'
import type { Reply } from '../../support/clients/http-client.ts'
import {
  answerOf,
  askTokens,
  exchange,
  newVerifier,
  originOf,
  registerClient,
  requestOf,
  type TestClient,
} from '../../support/clients/sign-in/applications.ts'
import { Browser, hiddenFields } from '../../support/clients/sign-in/browser.ts'
import { passwordOf, type Stack } from '../../support/worlds/stack.ts'

/** A step of an interleaving. Numbers choose among the codes and logins that there are. */
export type Step =
  | { readonly kind: 'authorize'; readonly user: number; readonly client: number; readonly stays: boolean }
  | { readonly kind: 'exchange'; readonly code: number; readonly times: number }
  | { readonly kind: 'exchange while'; readonly code: number; readonly other: 'sign out' | 'withdraw' }
  | { readonly kind: 'refresh'; readonly login: number }
  | { readonly kind: 'sign in' | 'sign out'; readonly user: number }
  | { readonly kind: 'withdraw'; readonly user: number; readonly client: number }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'refused'; readonly user: number; readonly code: number }

interface User {
  readonly name: string
  readonly browser: Browser
  /** Counts the sessions; null: signed out. */
  session: number | null
  /** What the client of another party was granted. */
  consent: Set<string>
}

interface Login {
  readonly user: User
  readonly client: TestClient
  /** It outlives the session. */
  readonly stays: boolean
  access: string
  refresh: string
  /** Undefined: what came at the same time decides. */
  ended: boolean | undefined
}

interface Code {
  readonly user: User
  readonly client: TestClient
  readonly scopes: readonly string[]
  readonly session: number
  readonly value: { readonly code: string; readonly verifier: string }
  /** In milliseconds. */
  readonly expiresAt: number
  login: Login | undefined
}

const tables = ['login_families', 'sessions', 'consents', 'clients', 'device_requests', 'users', 'ended_clients']
const countSql = `select ${tables.map((table) => `(select count(*) from auth.${table})::text as ${table}`).join(', ')}`

/** The model of one run. */
export class Interleaving {
  readonly #stack: Stack
  readonly #users: readonly User[]
  /** The second one is of another party. */
  readonly #clients: readonly TestClient[]
  readonly #codes: Code[] = []
  readonly #logins: Login[] = []

  constructor(stack: Stack, { users, clients }: { users: readonly User[]; clients: readonly TestClient[] }) {
    this.#stack = stack
    this.#users = users
    this.#clients = clients
  }

  /** A run with new browsers, and a client that nobody has let do anything. */
  static async begin(stack: Stack, first: TestClient): Promise<Interleaving> {
    const origin = await originOf(stack)
    const third = await registerClient(stack, { firstParty: false, rights: ['deal.read'] })
    const users = ['alice', 'bob'].map((name) => ({
      name,
      browser: new Browser(origin),
      session: null,
      consent: new Set<string>(),
    }))
    return new Interleaving(stack, { users, clients: [first, third] })
  }

  /** Does it, and compares every login with what it should be. */
  async run(step: Step): Promise<void> {
    await this.#do(step)
    for (const login of this.#logins) await this.#compare(login)
  }

  #do(step: Step): Promise<void> {
    switch (step.kind) {
      case 'authorize':
        return this.#authorize(step)
      case 'exchange':
        return this.#onCode(step.code, (code) => this.#exchange(code, step.times))
      case 'exchange while':
        return this.#onCode(step.code, (code) => this.#exchangeWhile(code, step.other))
      case 'refresh':
        return this.#refresh(step.login)
      case 'sign in':
        return this.#signIn(this.#user(step.user))
      case 'sign out':
        return this.#signOut(this.#user(step.user))
      case 'withdraw':
        return this.#withdraw(this.#user(step.user), this.#client(step.client))
      case 'wait':
        this.#stack.clock.advanceSeconds(step.seconds)
        return Promise.resolve()
      case 'refused':
        return this.#refuse(this.#user(step.user), step.code)
    }
  }

  #user = (which: number) => this.#users[which % this.#users.length] as User
  #client = (which: number) => this.#clients[which % this.#clients.length] as TestClient
  #isThird = (client: TestClient) => client === this.#clients[1]

  async #onCode(which: number, work: (code: Code) => Promise<void>): Promise<void> {
    const code = this.#codes[which % this.#codes.length]
    if (code) await work(code)
  }

  async #authorize({ user: which, client: of, stays }: { user: number; client: number; stays: boolean }) {
    const [user, client] = [this.#user(which), this.#client(of)]
    const scopes = ['openid', 'deal.read', ...(stays ? ['offline_access'] : [])]
    const { verifier, challenge } = newVerifier()
    const query = requestOf(client, { scope: scopes.join(' '), code_challenge: challenge })
    let arrival = await user.browser.go(`/oauth/authorize?${query}`)
    if (user.session === null) return expect(arrival.url).toContain('/account/sign-in')
    const isCovered = scopes.every((scope) => user.consent.has(scope))
    const isAsked = arrival.url.includes('/account/authorize')
    expect(isAsked).toBe(this.#isThird(client) && !isCovered)
    if (isAsked) {
      const form = { ...hiddenFields(arrival.reply.text), decision: 'allow' }
      arrival = await user.browser.go('/oauth/authorize/decision', form)
      for (const scope of scopes) user.consent.add(scope)
    }
    const { code = '' } = answerOf(arrival)
    expect(code).not.toBe('')
    const expiresAt = this.#stack.clock.now() + 60_000
    const value = { code, verifier }
    this.#codes.push({ user, client, scopes, session: user.session, value, expiresAt, login: undefined })
  }

  /** Undefined: the code may expire just now. */
  #isGood({ user, client, scopes, session, expiresAt, login }: Code): boolean | undefined {
    const left = expiresAt - this.#stack.clock.now()
    if (Math.abs(left) < 5_000) return undefined
    const isCovered = !this.#isThird(client) || scopes.every((scope) => user.consent.has(scope))
    return left > 0 && login === undefined && user.session === session && isCovered
  }

  async #exchange(code: Code, times: number): Promise<void> {
    const isGood = this.#isGood(code)
    if (isGood === undefined) return
    const wasUsed = code.login !== undefined
    const replies = await Promise.all(
      Array.from({ length: times }, () => exchange(this.#stack, code.client, code.value)),
    )
    const given = replies.filter(({ status }) => status === 200)
    expect(given.length).toBeLessThanOrEqual(isGood ? 1 : 0)
    if (isGood && times === 1) expect(given).toHaveLength(1)
    for (const { status, body } of replies) if (status !== 200) expect(body.error).toBe('invalid_grant')
    for (const reply of given) this.#noteLogin(code, reply).ended = times > 1
    if (wasUsed && code.login && code.expiresAt > this.#stack.clock.now()) code.login.ended = true
  }

  #noteLogin(code: Code, { body }: Reply): Login {
    const { user, client, scopes } = code
    const [access, refresh] = [String(body.access_token), String(body.refresh_token)]
    code.login = { user, client, stays: scopes.includes('offline_access'), access, refresh, ended: false }
    this.#logins.push(code.login)
    return code.login
  }

  /** Whatever comes first, no login that should have ended is left. */
  async #exchangeWhile(code: Code, other: 'sign out' | 'withdraw'): Promise<void> {
    if (this.#isGood(code) !== true) return
    const { user, client } = code
    const { access: token } = await this.#stack.logIn(user.name)
    const ending = other === 'sign out' ? this.#signOut(user) : this.#withdraw(user, client, token)
    const [reply] = await Promise.all([exchange(this.#stack, client, code.value), ending])
    if (reply.status !== 200) return expect(reply.body.error).toBe('invalid_grant')
    const login = this.#noteLogin(code, reply)
    // Of a login of a first-party client, the one that came first decides.
    const endsAll = other === 'sign out' ? !login.stays : this.#isThird(client)
    login.ended = endsAll || (other === 'withdraw' ? undefined : false)
  }

  async #refresh(which: number): Promise<void> {
    const login = this.#logins[which % this.#logins.length]
    if (login?.ended === undefined) return
    const { status, body } = await this.#askRefresh(login)
    if (login.ended) return expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_grant' })
    expect(status, JSON.stringify(body)).toBe(200)
    login.access = String(body.access_token)
    login.refresh = String(body.refresh_token)
  }

  #askRefresh = ({ client, refresh }: Login) =>
    askTokens(this.#stack, client, { grant_type: 'refresh_token', refresh_token: refresh })

  async #signIn(user: User): Promise<void> {
    const page = await user.browser.go('/account/sign-in')
    await user.browser.signIn(page, user.name, passwordOf(user.name))
    user.session = (user.session ?? this.#codes.length * 1000) + 1
  }

  /** What hangs on the session ends. */
  async #signOut(user: User): Promise<void> {
    if (user.session === null) return
    user.session = null
    for (const login of this.#logins) if (login.user === user && !login.stays) login.ended = true
    await user.browser.go('/sessions/current', { _method: 'DELETE' })
  }

  async #withdraw(user: User, client: TestClient, given?: string): Promise<void> {
    const token = given ?? (await this.#stack.logIn(user.name)).access
    if (this.#isThird(client)) user.consent.clear()
    for (const login of this.#logins) if (login.user === user && login.client === client) login.ended = true
    const { status } = await this.#stack.auth.send(`/consents/${client.id}`, { method: 'DELETE', token })
    expect([204, 404]).toContain(status)
  }

  /** Requests that are refused leave no row. */
  async #refuse({ browser }: User, which: number): Promise<void> {
    const [client, other] = [this.#client(which), this.#client(which + 1)]
    const count = async () => (await this.#stack.database.query(countSql))[0]
    const before = await count()
    for (const more of [{ redirect_uri: 'https://evil.example' }, { scope: 'x' }, { response_type: 'token' }, {}])
      await browser.go(`/oauth/authorize?${requestOf(client, more)}`)
    const code = this.#codes[which % this.#codes.length]
    if (code) {
      const wrong = { code: code.value.code, verifier: newVerifier().verifier }
      expect((await exchange(this.#stack, code.client, wrong)).status).toBe(400)
      const foreign = code.client === client ? other : client
      expect((await exchange(this.#stack, foreign, code.value)).status).toBe(400)
    }
    expect(await count()).toEqual(before)
  }

  /** Within a second, tokens of a login that has ended are refused everywhere; others are accepted. */
  async #compare(login: Login): Promise<void> {
    if (login.ended === undefined) return
    const isPast = Number(decodeJwt(login.access).exp) * 1000 < this.#stack.clock.now() + 5_000
    if (isPast && !login.ended) return
    const refused = async () =>
      Promise.all([
        this.#stack.deal.send('/rest/v1/deals', { token: login.access }).then(({ status }) => status === 401),
        this.#stack.auth.send('/oauth/userinfo', { token: login.access }).then(({ status }) => status === 401),
      ])
    await expect.poll(refused, { timeout: 1_000 }).toEqual([login.ended, login.ended])
  }
}
