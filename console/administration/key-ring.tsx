/** The key ring: states, ages, and what an operator does next. Nobody changes it here. */

import { nextSteps, type Step, stepFor } from '../../auth-server/key-ring/life-cycle.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import type { AuthPage, AuthReply } from '../frame/auth-api.ts'
import { type Column, Table, Time } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'
import { administration } from '../texts/administration.ts'

const { ring: texts } = administration

type Key = AuthReply<'GET /keys'>['items'][number]

/** The clock, and how long a key signs (`KEY_MAX_AGE_DAYS`). */
export interface KeyRingPageParts {
  readonly clock: Clock
  readonly rules: { readonly maxAgeMs: number }
}

/** `/account/keys`. */
export const keyRingPage = ({ clock, rules }: KeyRingPageParts): AuthPage => ({
  methods: ['GET'],
  path: '/account/keys',
  right: 'key.read',
  render: async ({ api, reader }) => {
    const { items } = await api.get('GET /keys')
    const steps = nextSteps({ keys: items }, rules)
    const now = clock.now()
    const ofUse = (use: Key['use']) => items.filter((key) => key.use === use).sort(byState)
    return {
      title: texts.title,
      content: (
        <>
          <h1>{texts.title}</h1>
          <p class="hint">{texts.intro}</p>
          {uses.map((use) => (
            <section class="block">
              <h2>{texts.uses[use]}</h2>
              <Table caption={texts.uses[use]} columns={columnsFor({ reader, steps, now })} rows={ofUse(use)} />
            </section>
          ))}
          <Commands keys={items} />
        </>
      ),
    }
  },
})

/** In the order of their sections. */
const uses: readonly Key['use'][] = ['jwt', 'key-signed']

const order: readonly Key['state'][] = ['active', 'pending', 'retired', 'removed']
const byState = (a: Key, b: Key) => order.indexOf(a.state) - order.indexOf(b.state)

interface Seen {
  readonly reader: Reader
  readonly steps: readonly Step[]
  readonly now: number
}

/** When the key came into its state. */
const sinceOf = (key: Key): string =>
  key.revokedAt ??
  (key.state === 'removed' ? key.removeAt : null) ??
  key.retiredAt ??
  key.activatedAt ??
  key.publishedAt ??
  key.createdAt

const columnsFor = ({ reader, steps, now }: Seen): Column<Key>[] => [
  { title: texts.kid, cell: ({ kid }) => <code>{kid}</code> },
  {
    title: texts.state,
    cell: (key) => (
      <>
        <span class={badgeOf[key.state]}>{texts.states[key.state]}</span>{' '}
        <span class="hint">
          {key.revokedReason === null ? texts.meanings[key.state] : texts.revoked(key.revokedReason)}
        </span>
      </>
    ),
  },
  { title: texts.alg, cell: ({ alg }) => alg },
  { title: texts.since, cell: (key) => <Time time={sinceOf(key)} reader={reader} /> },
  { title: texts.age, cell: (key) => ageOf(now - Date.parse(sinceOf(key))) },
  { title: texts.next, cell: (key) => <NextStep step={stepFor(key, steps)} reader={reader} now={now} /> },
]

const badgeOf: Readonly<Record<Key['state'], string>> = {
  pending: 'badge warn',
  active: 'badge good',
  retired: 'badge',
  removed: 'badge bad',
}

/** A duration in its largest whole unit. */
function ageOf(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  if (minutes < 60) return texts.minutes(minutes)
  return minutes < 1440 ? texts.hours(Math.floor(minutes / 60)) : texts.days(Math.floor(minutes / 1440))
}

function NextStep({ step, reader, now }: { readonly step: Step | undefined } & Pick<Seen, 'reader' | 'now'>) {
  if (step === undefined) return <span>{texts.noStep}</span>
  return (
    <span>
      {texts.steps[step.do]} ·{' '}
      {step.dueAt <= now ? (
        <span class="badge warn">{texts.due}</span>
      ) : (
        <Time time={new Date(step.dueAt).toISOString()} reader={reader} />
      )}
    </span>
  )
}

function Commands({ keys }: { readonly keys: readonly Key[] }) {
  const pending = keys.filter(({ state }) => state === 'pending')
  const active = keys.filter(({ state }) => state === 'active')
  const commands = [
    { text: 'ops keys rotate', why: texts.rotate },
    ...pending.map(({ kid }) => ({ text: `ops keys promote ${kid}`, why: texts.promote })),
    ...active.map(({ use }) => ({ text: `ops keys generate --use ${use}`, why: texts.generate(use) })),
    ...active.map(({ kid }) => ({ text: `ops keys revoke ${kid} --reason '…'`, why: texts.revoke })),
  ]
  return (
    <section class="panel">
      <h2>{texts.commands}</h2>
      <p class="hint">{texts.commandsIntro}</p>
      <dl class="stack commands">
        {commands.map(({ text, why }) => (
          <div>
            <dt>{why}</dt>
            <dd>
              <code>{text}</code>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
