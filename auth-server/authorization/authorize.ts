/**
 * The way of a browser from an application to its code: sign in, let the application do what it asks for, go back. The
 * request travels sealed in the URL, so what nobody finishes costs nothing.
 */
import { sql } from 'drizzle-orm'
import { parameters } from '../../shared/platform/database/statement.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import { clockToleranceSeconds } from '../../shared/protocol/clock-tolerance.ts'
import type { KnownClient } from '../clients/client-secrets.ts'
import { targetOf } from '../clients/redirect-uri.ts'
import { milliseconds } from '../logins/refresh-token-families.ts'
import type { OAuthSystems } from '../oauth/oauth-systems.ts'
import { accessRights } from '../store/access-tables.ts'
import { s } from '../store/aliases.ts'
import { rowIdOf } from '../store/built-in-clients.ts'
import { consents } from '../store/client-tables.ts'
import { sessions } from '../store/schema.ts'
import { codeTtlSeconds, digestOf, sealCode } from './authorization-code.ts'
import {
  AuthorizationError,
  checkRequest,
  type Known,
  maxRequestLength,
  type ReplyTo,
  refuseDoubled,
  requestNow,
  unanswerable,
} from './authorization-request.ts'
import { storeConsent } from './consents.ts'
import { type Decision, decide, type SignedIn, withConsent } from './decide.ts'
import { openRequest, requestUriPrefix, sealRequest, type TravellingRequest } from './sealed-request.ts'

/** What a user is asked on the way. */
export interface AskedConsent {
  readonly client: KnownClient
  /** The origin that the answer goes to, or the scheme of an application's own. */
  readonly target: string
  /** Null: all that the user may do. */
  readonly rights: readonly { readonly name: string; readonly description: string }[] | null
  readonly scopes: readonly string[]
  readonly loginHint: string | null
}

/** Authorization requests. All throw Unavailable. */
export interface Authorization {
  /**
   * Answers a request of a browser: the URL that it goes on to. Changes nothing.
   * @throws ProblemError `invalid-authorization-request`
   */
  authorize(sent: URLSearchParams, caller: Caller | undefined): Promise<string>
  /** The URL on which a request goes on that came by POST. @throws ProblemError `invalid-authorization-request` */
  begin(sent: URLSearchParams): Promise<string>
  /** Checks the request of a client that has authenticated (RFC 9126). @throws as `checkRequest` */
  push(sent: URLSearchParams, client: KnownClient): Promise<{ readonly requestUri: string; readonly expiresIn: number }>
  /** What the request asks for. @throws ProblemError `invalid-authorization-request` */
  describe(sent: URLSearchParams): Promise<AskedConsent>
  /** The URL that follows the user's answer. @throws ProblemError `invalid-authorization-request` */
  answer(sent: URLSearchParams, caller: Caller | undefined, isAllowed: boolean): Promise<string>
}

/** How long a pushed request is good, in seconds. */
const pushedTtlSeconds = 60
/** How long a user may take for a page, in seconds. */
const pageTtlSeconds = 3_600

/** Creates the answers. The pages for signing in and for consent are at these URLs. */
export function createAuthorization(
  systems: OAuthSystems,
  pages: { readonly authorize: string; readonly signIn: string; readonly consent: string },
): Authorization {
  const { clock, sealing, clients } = systems
  const known = lookUps(systems)

  const clientOf = async (sent: URLSearchParams): Promise<KnownClient> => {
    refuseDoubled(sent)
    if (sent.toString().length > maxRequestLength * 2) throw unanswerable('The request is too long.')
    const client = await clients.known(sent.get('client_id') ?? '')
    if (!client) throw unanswerable('The client_id is not that of a client.')
    return client
  }
  const open = async (sent: URLSearchParams, client: KnownClient): Promise<TravellingRequest> => {
    const requestUri = sent.get('request_uri') ?? ''
    const travelling = openRequest(sealing, { requestUri, clientId: client.id, now: clock.now() })
    if (travelling) return { ...travelling, request: await requestNow(travelling.request, client, known(client)) }
    throw unanswerable(
      'The request is not one of this server, or has expired. Go back to the application, and begin again.',
    )
  }
  const read = async (sent: URLSearchParams, client: KnownClient): Promise<TravellingRequest> => {
    if (sent.get('request_uri')?.startsWith(requestUriPrefix)) return open(sent, client)
    if (sent.toString().length > maxRequestLength) throw unanswerable('The request is too long.')
    return { request: await checkRequest(sent, client, known(client)), signedInSince: null, sessionId: null }
  }
  const page = (url: string, travelling: TravellingRequest) => {
    const requestUri = sealRequest(sealing, travelling, clock.now() + pageTtlSeconds * 1000)
    return `${url}?${new URLSearchParams({ client_id: travelling.request.clientId, request_uri: requestUri })}`
  }
  const follow = (travelling: TravellingRequest, decision: Decision, user: SignedIn | undefined): string => {
    const { request } = travelling
    if (decision.next === 'refuse')
      return refusedUrl(new AuthorizationError(request, decision.code, decision.description))
    if (decision.next === 'sign-in' || !user) {
      // The clock of the server that begins the session may be late.
      const signedInSince = clock.now() - clockToleranceSeconds * 1000
      const back = page(pages.authorize, { request, signedInSince, sessionId: null })
      return `${pages.signIn}?${new URLSearchParams({ return_to: back })}`
    }
    if (decision.next === 'consent') return page(pages.consent, { ...travelling, sessionId: user.sessionId })
    return answerUrl(request, { code: newCode(travelling, user) })
  }
  const newCode = ({ request }: TravellingRequest, user: SignedIn): string =>
    sealCode(sealing, request.clientId, {
      login: systems.ids.uuid(),
      session: user.sessionId,
      userId: user.userId,
      username: user.username,
      redirect: digestOf(request.redirectUri),
      challenge: request.challenge,
      nonce: request.nonce,
      scopes: request.scopes,
      rights: request.rights,
      audience: request.audience,
      authenticatedAt: user.authenticatedAt,
      factor: user.factor,
      sessionExpiresAt: user.expiresAt,
      expiresAt: clock.now() + codeTtlSeconds * 1000,
    })
  const answerUrl = ({ redirectUri, state }: ReplyTo, members: Record<string, string>): string => {
    const query = new URLSearchParams({ ...members, ...(state !== null && { state }), iss: systems.settings.issuer })
    return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`
  }
  const refusedUrl = ({ replyTo, code, message }: AuthorizationError): string =>
    answerUrl(replyTo, { error: code, error_description: message })
  /** The URL for the client in place of a refusal that it learns. */
  const orRefusal = async (work: () => Promise<string>): Promise<string> => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof AuthorizationError) return refusedUrl(error)
      throw error
    }
  }

  return {
    authorize: (sent, caller) =>
      orRefusal(async () => {
        const client = await clientOf(sent)
        const travelling = await read(sent, client)
        const user = caller && (await readSignedIn(systems, caller, client.id))
        return follow(travelling, decide(travelling, { client, user, now: clock.now() }), user)
      }),
    begin: (sent) => orRefusal(async () => page(pages.authorize, await read(sent, await clientOf(sent)))),
    push: async (sent, client) => {
      if (sent.has('request_uri')) throw unanswerable('request_uri: a request is not pushed twice.')
      const travelling = await read(sent, client)
      const requestUri = sealRequest(sealing, travelling, clock.now() + pushedTtlSeconds * 1000)
      return { requestUri, expiresIn: pushedTtlSeconds }
    },
    describe: async (sent) => {
      const client = await clientOf(sent)
      const { redirectUri, rights, scopes, loginHint } = (await open(sent, client)).request
      return {
        client,
        target: targetOf(redirectUri),
        rights: rights && (await describeRights(systems, rights)),
        scopes,
        loginHint,
      }
    },
    answer: (sent, caller, isAllowed) =>
      orRefusal(async () => {
        const client = await clientOf(sent)
        const travelling = await open(sent, client)
        const user = caller && (await readSignedIn(systems, caller, client.id))
        if (travelling.sessionId === null || (user && user.sessionId !== travelling.sessionId))
          throw unanswerable('Another user was asked. Go back to the application, and begin again.')
        const { request } = travelling
        if (!isAllowed) throw new AuthorizationError(request, 'access_denied', 'The user has refused.')
        const asked = { ...travelling, request: { ...request, prompts: [] } }
        const granted = user && withConsent(user, request)
        const decision = decide(asked, { client, user: granted, now: clock.now() })
        if (decision.next === 'code' && granted && !client.firstParty) await storeConsent(systems, granted, client.id)
        return follow(travelling, decision, granted)
      }),
  }
}

/** What a request of this client looks up. */
export const lookUps =
  ({ catalogues, audiences, readIdTokenHint }: OAuthSystems) =>
  (client: KnownClient): Known => ({
    rightNames: async () => new Set((await catalogues.latest()).rights.map(({ name }) => name)),
    chooseServer: audiences.chooseServer,
    subjectOf: async (idToken) => {
      const read = await readIdTokenHint(idToken)
      return read?.clientId === client.id ? read.subject : undefined
    },
  })

const asked = parameters({ sessionId: 'uuid', userId: 'uuid', clientId: 'uuid' })
const signedInSql = asked.statement(sql`select json_build_object('authenticatedAt', ${milliseconds(s.createdAt)},
    'expiresAt', ${milliseconds(s.expiresAt)}, 'factor', ${s.secondFactor},
    'consent', (select json_build_object('rights', to_json(${consents.rights}), 'scopes', to_json(${consents.scopes}))
      from ${consents} where ${consents.userId} = ${s.userId} and ${consents.clientId} = ${asked.clientId})) as facts
  from ${sessions} ${s} where ${s.id} = ${asked.sessionId} and ${s.userId} = ${asked.userId} and ${s.endedAt} is null`)

/** The user of the session that the caller's cookie is of. @throws ProblemError `unauthenticated`; Unavailable */
export async function readSignedIn(
  { database }: OAuthSystems,
  { userId, username, rights, credential: { loginId: sessionId } }: Caller,
  clientId: string,
): Promise<SignedIn | undefined> {
  if (sessionId === undefined) throw new ProblemError('unauthenticated', 'Only a session signs a browser in.')
  type Facts = Pick<SignedIn, 'authenticatedAt' | 'expiresAt' | 'factor' | 'consent'>
  const [row] = await database.query<{ facts: Facts }>(
    ...signedInSql({ sessionId, userId, clientId: rowIdOf(clientId) }),
  )
  return row && { ...row.facts, sessionId, userId, username, rights }
}

const named = parameters({ names: 'json' })
const describeSql = named.statement(sql`select ${accessRights.name} as name, ${accessRights.description} as description
  from ${accessRights} where ${accessRights.name} = any(array(select json_array_elements_text(${named.names})))
  order by ${accessRights.position}`)

/** These rights in words. @throws Unavailable */
export const describeRights = ({ database }: OAuthSystems, names: readonly string[]) =>
  database.query<{ name: string; description: string }>(...describeSql({ names }))
