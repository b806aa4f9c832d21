/** The key ring: states, ages, and what an operator does next. Nobody changes it here. */

import { nextSteps, type Step, stepFor } from '../../auth-server/key-ring/life-cycle.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import type { AuthPage, AuthReply } from '../frame/auth-api.ts'
import { type Column, Table, Time } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'

const texts = {
  uses: { jwt: 'Access tokens (JWT)', 'key-signed': 'Key-signed tokens' },
  states: { pending: 'pending', active: 'active', retired: 'retired', removed: 'removed' },
  meanings: {
    pending: 'Published; does not sign yet',
    active: 'Signs',
    retired: 'Only verifies',
    removed: 'Accepted no more',
  },
  steps: { generate: 'Make its successor', promote: 'Let it sign', remove: 'Remove it' },
}

type Key = AuthReply<'GET /keys'>['items'][number]

/** The clock, and how long a key signs (`KEY_MAX_AGE_DAYS`). */
export interface KeyRingPageProps {
  readonly clock: Clock
  readonly rules: { readonly maxAgeMs: number }
}

/** `/account/keys`. */
export const keyRingPage = ({ clock, rules }: KeyRingPageProps): AuthPage => ({
  methods: ['GET'],
  path: '/account/keys',
  right: 'key.read',
  render: async ({ api, reader }) => {
    const { items } = await api.get('GET /keys')
    const steps = nextSteps({ keys: items }, rules)
    const now = clock.now()
    const ofUse = (use: Key['use']) => items.filter((key) => key.use === use).sort(byState)
    return {
      title: 'Signing keys',
      content: (
        <>
          <h1>Signing keys</h1>
          <p class="hint">Operators change the key ring by the command line, not here.</p>
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
  { title: 'Key', cell: ({ kid }) => <code>{kid}</code> },
  {
    title: 'State',
    cell: (key) => (
      <>
        <span class={badgeOf[key.state]}>{texts.states[key.state]}</span>{' '}
        <span class="hint">
          {key.revokedReason === null ? texts.meanings[key.state] : `revoked: ${key.revokedReason}`}
        </span>
      </>
    ),
  },
  { title: 'Algorithm', cell: ({ alg }) => alg },
  { title: 'Since', cell: (key) => <Time time={sinceOf(key)} reader={reader} /> },
  { title: 'Age', cell: (key) => ageOf(now - Date.parse(sinceOf(key))) },
  { title: 'Next step', cell: (key) => <NextStep step={stepFor(key, steps)} reader={reader} now={now} /> },
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
  if (minutes < 60) return minutes === 1 ? '1 minute' : `${minutes} minutes`
  const [count, unit] = minutes < 1440 ? [Math.floor(minutes / 60), 'hour'] : [Math.floor(minutes / 1440), 'day']
  return count === 1 ? `1 ${unit}` : `${count} ${unit}s`
}

function NextStep({ step, reader, now }: { readonly step: Step | undefined } & Pick<Seen, 'reader' | 'now'>) {
  if (step === undefined) return <span>None</span>
  return (
    <span>
      {texts.steps[step.do]} ·{' '}
      {step.dueAt <= now ? (
        <span class="badge warn">due</span>
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
    { text: 'ops keys rotate', why: 'Does each step that is due. Run it daily.' },
    ...pending.map(({ kid }) => ({
      text: `ops keys promote ${kid}`,
      why: 'Lets the pending key sign, ten minutes after it was published.',
    })),
    ...active.map(({ use }) => ({
      text: `ops keys generate --use ${use}`,
      why: `Makes the next ${use} key before its time.`,
    })),
    ...active.map(({ kid }) => ({
      text: `ops keys revoke ${kid} --reason '…'`,
      why: 'For emergencies: no server accepts a token of this key any more.',
    })),
  ]
  return (
    <section class="panel">
      <h2>What an operator runs</h2>
      <p class="hint">ops stands for the command of your installation: the page for operators shows it.</p>
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
