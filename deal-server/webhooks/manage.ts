/** What clients can do with webhooks (docs/webhooks.md). Knows neither HTTP nor how events are sent on. */
import { rfc3339 } from '../../shared/platform/clock.ts'
import { Permits } from '../../shared/platform/concurrency/permits.ts'
import type { Page, PageRequest } from '../../shared/platform/pagination.ts'
import { invalidValue } from '../../shared/platform/problems/check-value.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { addressInHost, mayReach, type Network } from '../../shared/platform/webhooks/reachable-address.ts'
import { newWebhookSecret } from '../../shared/platform/webhooks/sign-message.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import { sightOf } from '../domain/sight.ts'
import { parsePosition } from '../events/position.ts'
import { isOfPresent, outdatedPosition } from '../events/stream-request.ts'
import type { Delivery } from './deliver.ts'
import type { Attempt, Responsible, StoredAttempt, Webhook, WebhookSettings, WebhookView } from './ports.ts'
import { webhookRights } from './responsible.ts'
import type { WebhookSystems } from './webhook-systems.ts'

/** What the management is made with. */
interface Management extends WebhookSystems {
  /** Networks that are allowed although they are not public. */
  readonly allowedNetworks: readonly Network[]
  /** Called after every change. */
  readonly onChange: () => void
}

interface WebhookRequest extends WebhookSettings {
  /** It begins after this position; with what happens from now on when left out. */
  readonly after: string | undefined
}

/** A change. Members that are undefined stay. */
export type WebhookPatch = { readonly [Member in keyof WebhookSettings]?: WebhookSettings[Member] | undefined } & {
  readonly state?: Webhook['state'] | undefined
}

/** A webhook with its new secret, which is shown once. */
export interface WithSecret {
  readonly webhook: WebhookView
  readonly secret: string
}

type Who = Pick<Caller, 'username' | 'userId' | 'rights' | 'generation'>

const maxWebhooks = 100
/** How long the former secret signs too, in milliseconds. */
const formerSecretMs = 86_400_000
/** Tests that may be under way at once; others wait. */
const maxTests = 4
const testEventType = 'webhook.test'

const noSuchWebhook = () => new ProblemError('not-found', 'There is no such webhook.')

const found = <Found>(webhook: Found | undefined): Found => {
  if (webhook === undefined) throw noSuchWebhook()
  return webhook
}

/** The webhooks for clients. */
export type WebhookManagement = ReturnType<typeof createWebhookManagement>

/** Makes the management of webhooks. Every method @throws ProblemError; Unavailable */
export function createWebhookManagement(given: Management) {
  const { store, secrets, clock, ids, onChange } = given
  const tests = new Permits(maxTests)
  const now = () => rfc3339(clock.now())
  const responsibleOf = (who: Who): Responsible => ({
    username: who.username,
    userId: who.userId,
    seesDeleted: sightOf(who).deleted !== undefined,
    generation: who.generation,
  })
  const announced = <Result>(result: Result): Result => {
    onChange()
    return result
  }
  return {
    create: async ({ after, ...settings }: WebhookRequest, caller: Who): Promise<WithSecret> => {
      const url = acceptedUrl(settings.url, given)
      const position = await positionOf(given, after)
      const [id, secret] = [ids.uuid(), newWebhookSecret()]
      const made = {
        id,
        url,
        sealedSecret: secrets.seal(id, secret),
        responsible: responsibleOf(caller),
        at: now(),
        position,
      }
      const webhook = await store.create({ ...settings, ...made }, maxWebhooks)
      if (webhook) return announced({ webhook, secret })
      throw new ProblemError('too-many-webhooks', `There are ${maxWebhooks} webhooks already; delete one first.`)
    },
    list: (page: PageRequest) => store.list(page),
    find: async (id: string) => found(await store.find(id)),
    /** The caller becomes the responsible user. */
    change: async (id: string, patch: WebhookPatch, caller: Who) => {
      const url = patch.url === undefined ? undefined : acceptedUrl(patch.url, given)
      const named = Object.fromEntries(Object.entries({ ...patch, url }).filter(([, value]) => value !== undefined))
      if (Object.keys(named).length === 0) return found(await store.find(id))
      return announced(found(await store.change(id, { ...named, at: now(), responsible: responsibleOf(caller) })))
    },
    remove: async (id: string) => {
      if (!(await store.remove(id))) throw noSuchWebhook()
      onChange()
    },
    /** The former secret signs too for a day. */
    rotateSecret: async (id: string) => announced(await rotate(given, id)),
    /** Delivers the events after this position once more. */
    redeliver: async (id: string, after: string) => {
      found(await store.find(id))
      const position = await positionOf(given, after)
      return announced(found(await store.rewind(id, position, now())))
    },
    /** Sends an event that says nothing, also to a paused webhook. */
    test: (id: string) => tests.run(() => sendTest(given, id)),
    /** Names the deals only to a caller who reads the events of all deals. */
    attempts: async (id: string, page: PageRequest, caller: Who): Promise<Page<StoredAttempt>> => {
      const [attempts, webhook] = await Promise.all([store.attempts(id, page), store.find(id)])
      found(webhook)
      if (sightOf(caller, webhookRights).deals === 'all') return attempts
      return { ...attempts, items: attempts.items.map((one) => ({ ...one, dealId: null })) }
    },
  }
}

async function rotate({ store, secrets, clock }: WebhookSystems, id: string): Promise<WithSecret> {
  const before = found(await store.find(id))
  const secret = newWebhookSecret()
  const isReadable = secrets.open(id, before.secret) !== undefined
  const sealed = {
    secret: secrets.seal(id, secret),
    formerSecret: isReadable ? before.secret : null,
    formerSecretUntil: isReadable ? rfc3339(clock.now() + formerSecretMs) : null,
  }
  return { webhook: found(await store.replaceSecrets(id, sealed, rfc3339(clock.now()))), secret }
}

async function sendTest({ store, deliver, clock, ids }: WebhookSystems, id: string): Promise<Attempt> {
  const webhook = found(await store.find(id))
  const delivery: Delivery = {
    eventId: ids.uuid(),
    type: testEventType,
    timestamp: rfc3339(clock.now()),
    dealId: null,
    attempt: 1,
    data: { webhook: id },
  }
  const sent = await deliver(webhook, { delivery })
  if (!sent) {
    throw new ProblemError('invalid-value', 'The secret of this webhook cannot be opened any more: rotate it.')
  }
  await store.noteAttempt(id, sent.attempt)
  return sent.attempt
}

const maxUrlLength = 2_048

/**
 * The URL as requests name it, with characters encoded that a URL does not have.
 * @throws ProblemError `invalid-value` for one that no event is sent to
 */
function acceptedUrl(text: string, { allowedNetworks: allowed }: Management): string {
  const url = text.length <= maxUrlLength && URL.canParse(text) ? new URL(text) : undefined
  const message = url ? faultOfUrl(url, allowed) : `Expected an absolute URL of at most ${maxUrlLength} characters.`
  if (url && message === undefined) return url.href
  throw invalidValue([{ pointer: '/url', code: 'invalid-url', message: message ?? '' }])
}

function faultOfUrl(url: URL, allowed: readonly Network[]): string | undefined {
  const { protocol, username, password, hash, hostname, href } = url
  if (href.length > maxUrlLength) return `At most ${maxUrlLength} characters, percent-encoded.`
  if (protocol !== 'https:' && protocol !== 'http:') return 'Expected a URL that begins with https://.'
  if (username !== '' || password !== '') return 'A URL with a user name or a password is not accepted.'
  if (hash !== '') return 'A URL with a fragment is not accepted.'
  const address = addressInHost(hostname)
  if (address !== undefined && mayReach(address, protocol, { allowed })) return undefined
  if (address !== undefined && protocol === 'https:') return 'The address is not a public one.'
  // Where a name leads is judged at every request.
  return protocol === 'http:' && (address !== undefined || allowed.length === 0)
    ? 'Expected a URL that begins with https://.'
    : undefined
}

/** The position after which events are sent. @throws ProblemError `invalid-value`, `outdated-cursor`; Unavailable */
async function positionOf({ eventLog }: WebhookSystems, after: string | undefined): Promise<number> {
  const given = after === undefined ? undefined : parsePosition(after)
  if (after !== undefined && !given) throw invalidPosition('Expected the position of an event, or 0 for the beginning.')
  const snapshot = await eventLog.takeSnapshot(given?.position)
  if (!given) return snapshot.last.position
  if (!isOfPresent(given, snapshot)) throw outdatedPosition()
  if (given.position !== 0 && !snapshot.place) throw invalidPosition('There is no event at this position.')
  return given.position
}

const invalidPosition = (message: string) => invalidValue([{ pointer: '/after', code: 'invalid-position', message }])
