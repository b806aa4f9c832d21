import fc from 'fast-check'
import { decodeJwt } from 'jose'
import { expect } from 'vitest'
import type { TokenResponse } from '../../../auth-server/logins/issue-tokens.ts'
import { passTime } from '../support/pass-time.ts'
import {
  compare,
  isCurrent,
  type Model,
  type ModelLogin,
  present,
  type Real,
  retryWindowMs,
} from './refresh-token-family.model.ts'

type Command = fc.AsyncCommand<Model, Real>
type Step = (model: Model, real: Real) => Promise<void>

/** A command that can run when `ready`, and after which everything is compared with the model. */
function command(name: string, step: Step, ready: (model: Model) => boolean = () => true): Command {
  return {
    check: ready,
    run: async (model, real) => {
      await step(model, real)
      await compare(model, real)
    },
    toString: () => name,
  }
}

const anyLogin = (model: Model) => model.logins.length > 0

const pick = (model: Model, which: number): ModelLogin => {
  const login = model.logins[which % model.logins.length]
  if (!login) throw new Error('no login')
  return login
}

const expiryOf = (token: string) => Number(decodeJwt(token).exp) * 1000

const refusal = { status: 'rejected', reason: { code: 'invalid_grant' } }

/** Presents a token and checks what comes of it. */
async function presentAndCheck({ model, real, login }: Case, index: number): Promise<void> {
  await checkAnswers({ model, real, login }, index, await presentAtOnce(real, login, { index, times: 1 }))
}

interface Case {
  readonly model: Model
  readonly real: Real
  readonly login: ModelLogin
}

const presentAtOnce = (real: Real, login: ModelLogin, { index, times }: { index: number; times: number }) =>
  Promise.allSettled(Array.from({ length: times }, () => real.core.refresh(login.refreshTokens[index] ?? '')))

async function checkAnswers(
  { model, real, login }: Case,
  index: number,
  outcomes: PromiseSettledResult<TokenResponse>[],
): Promise<void> {
  const expected = present(model, login, index, real.clock.now())
  for (const outcome of outcomes) {
    if (expected === 'refuse' || outcome.status === 'rejected') {
      expect(expected).toBe('refuse')
      expect(outcome).toMatchObject(refusal)
      continue
    }
    note(login, expected === 'rotate' ? index + 1 : login.refreshTokens.length - 1, outcome.value, real.clock.now())
  }
}

/** The token of an index is the same whoever gets it, byte for byte, and a new one was never seen before. */
function note(login: ModelLogin, index: number, answer: TokenResponse, now: number): void {
  const known = login.refreshTokens[index]
  if (known === undefined) {
    expect(login.refreshTokens).not.toContain(answer.refresh_token)
    login.refreshTokens.push(answer.refresh_token)
    login.expiries.push(expiryOf(answer.refresh_token))
    login.formerRotatedAt = login.rotatedAt
    login.rotatedAt = now
  } else {
    expect(answer.refresh_token).toBe(known)
  }
  login.accessToken = answer.access_token
  login.accessExpiresAt = Math.max(login.accessExpiresAt, expiryOf(answer.access_token))
}

const logIn = () =>
  command('LogIn', async (model, { core, username }) => {
    const attempt = core.logIn({ username, password: model.password })
    if (!model.enabled) return expect(attempt).rejects.toMatchObject({ code: 'invalid-credentials' })
    const answer = await attempt
    const { sid, gen } = decodeJwt(answer.access_token)
    expect(gen).toBe(model.generation)
    model.logins.push({
      sid: String(sid),
      generation: model.generation,
      refreshTokens: [answer.refresh_token],
      expiries: [expiryOf(answer.refresh_token)],
      accessToken: answer.access_token,
      accessExpiresAt: expiryOf(answer.access_token),
      rotatedAt: Number.NEGATIVE_INFINITY,
      formerRotatedAt: Number.NEGATIVE_INFINITY,
      held: 0,
      presented: 0,
      brokeRule: false,
      ended: false,
    })
  })

/** What a well-behaved client does: it presents what it holds, in several tabs at once; the answer may get lost. */
const refresh = (which: number, options: { tabs: number; lost: boolean }) =>
  command(
    `Refresh(${which}, ${JSON.stringify(options)})`,
    async (model, real) => {
      const login = pick(model, which)
      const outcomes = await presentAtOnce(real, login, { index: login.held, times: options.tabs })
      await checkAnswers({ model, real, login }, login.held, outcomes)
      const answered = outcomes.some((outcome) => outcome.status === 'fulfilled')
      if (answered && !options.lost) login.held = login.refreshTokens.length - 1
    },
    anyLogin,
  )

const presentOld = (which: number, back: number) =>
  command(
    `PresentOld(${which}, ${back})`,
    async (model, real) => {
      const login = pick(model, which)
      await presentAndCheck({ model, real, login }, Math.max(0, login.refreshTokens.length - 1 - back))
    },
    anyLogin,
  )

const wait = (milliseconds: number, ready?: (model: Model) => boolean) =>
  command(
    `Wait(${milliseconds})`,
    async (model, real) => {
      await passTime(real, milliseconds)
      model.now = real.clock.now()
    },
    ready,
  )

/** Waits as a client does that repeats within the window whatever answer was lost. */
const waitWithinWindow = (milliseconds: number) =>
  wait(milliseconds, ({ logins, now }) =>
    logins.every(
      ({ held, refreshTokens, rotatedAt }) =>
        held === refreshTokens.length - 1 || now + milliseconds - rotatedAt <= retryWindowMs,
    ),
  )

const logOut = (which: number, back: number) =>
  command(
    `LogOut(${which}, ${back})`,
    async (model, { core }) => {
      const login = pick(model, which)
      const token = back === 0 ? login.accessToken : login.refreshTokens.at(-back)
      await core.logOut(token ?? login.accessToken)
      login.ended = true
    },
    anyLogin,
  )

const changePassword = (which: number) =>
  command(
    `ChangePassword(${which})`,
    async (model, { core, username }) => {
      const login = pick(model, which)
      const newPassword = `new password ${model.generation}`
      const own = { id: login.sid, generation: login.generation }
      const change = core.passwords.change({ username, oldPassword: model.password, newPassword, login: own })
      if (!model.enabled) return expect(change).rejects.toMatchObject({ code: 'wrong-password' })
      await change
      model.kept = isCurrent(model, login) ? own : null
      model.generation += 1
      model.password = newPassword
    },
    anyLogin,
  )

const logOutEverywhere = () =>
  command('LogOutEverywhere', async (model, { core, username }) => {
    await core.users.logOutEverywhere(username)
    Object.assign(model, { generation: model.generation + 1, kept: null })
  })

const setEnabled = (enabled: boolean) =>
  command(`SetEnabled(${enabled})`, async (model, { core, username }) => {
    await core.users.patch(username, { enabled })
    if (model.enabled && !enabled) Object.assign(model, { generation: model.generation + 1, kept: null })
    model.enabled = enabled
  })

const restart = () =>
  command('Restart', async (_model, real) => {
    await real.core.publisher.stop()
    real.core = real.restart()
    await real.core.publisher.publish()
  })

const which = fc.nat(2)
/** No sum of some of these is near the window: PostgreSQL's clock goes on by itself while a run lasts. */
const shortEpochs = [25_000, 40_000, 70_000]
const longEpochs = [600_000, 1_800_000, 43_200_000]

const refreshing = (maxTabs: number) =>
  fc
    .tuple(which, fc.record({ tabs: fc.integer({ min: 1, max: maxTabs }), lost: fc.boolean() }))
    .map((all) => refresh(...all))

/** Rare, since after most of these a login can do nothing more. */
const ending = fc.oneof(
  fc.tuple(which, fc.nat(2)).map((all) => logOut(...all)),
  which.map(changePassword),
  fc.constant(logOutEverywhere()),
  fc.constant(setEnabled(false)),
  fc.constantFrom(...longEpochs).map((moment) => wait(moment)),
)

/** Interleavings of everything that can happen to logins; refreshing is the most frequent. */
export const anyCommands = fc.commands(
  [
    fc.constant(logIn()),
    refreshing(3),
    refreshing(1),
    fc.tuple(which, fc.nat(3)).map((all) => presentOld(...all)),
    fc.tuple(which, fc.integer({ min: 1, max: 2 })).map((all) => presentOld(...all)),
    fc.constantFrom(...shortEpochs).map((moment) => wait(moment)),
    fc.constantFrom(setEnabled(true), restart()),
    ending,
  ],
  { maxCommands: 40, size: 'max' },
)

/**
 * What clients do that never present a token after its successor, and repeat within the window whatever answer gets
 * lost.
 */
export const wellBehavedCommands = fc.commands(
  [
    fc.constant(logIn()),
    refreshing(4),
    fc.constantFrom(...shortEpochs, 1_800_000).map(waitWithinWindow),
    fc.constant(restart()),
  ],
  { maxCommands: 40, size: 'max' },
)
