import { parseTrustedProxies, type TransportSettings } from '../../../shared/platform/http/transport.ts'
import { isLoopbackHost } from '../../../shared/platform/loopback.ts'
import type { VerifierLog, VerifierOptions } from './verifier.ts'

/** The options, checked and with their defaults. */
export interface VerifierSettings {
  /** Without a slash at the end. */
  readonly authUrl: string
  readonly serviceId: string
  readonly serviceSecret: string
  readonly audience: string
  /** A host that nothing has where the service does not name its origin: no signature over the host is right then. */
  readonly publicOrigin: string
  /** Origins whose pages may send credentials that browsers send on their own. */
  readonly trustedOrigins: ReadonlySet<string>
  readonly transport: TransportSettings
  readonly allowAnonymous: boolean
  readonly recordMaxAgeMs: number
  readonly maxBodyBytes: number
  readonly log: VerifierLog
}

const unnamedOrigin = 'https://service.invalid'
const idForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Checks the options. @throws TypeError that names the option and what it must be */
export function readVerifierSettings(options: VerifierOptions): VerifierSettings {
  const {
    service,
    audience,
    origin,
    trustedOrigins = [],
    allowInsecureHttp = false,
    allowAnonymous = false,
    log,
  } = options
  const { recordMaxAgeSeconds = 300, maxBodyBytes = 1_048_576 } = options
  require(idForm.test(service.id), 'service.id', 'the id of a service, as POST /services answers it')
  require(service.secret.length >= 32, 'service.secret', 'the secret that POST /services answers')
  require(audience !== '', 'audience', 'the audience of the resource server of the service')
  requireWhole(recordMaxAgeSeconds, 'recordMaxAgeSeconds', 86_400)
  requireWhole(maxBodyBytes, 'maxBodyBytes', 1_073_741_824)
  const trustProxy = parseTrustedProxies(options.trustedProxies ?? '0')
  if (!trustProxy) throw wrong('trustedProxies', 'a number of proxies, or their addresses and CIDRs')
  return {
    authUrl: authUrlOf(options),
    serviceId: service.id,
    serviceSecret: service.secret,
    audience,
    publicOrigin: origin === undefined ? unnamedOrigin : originOf(origin, 'origin'),
    trustedOrigins: new Set(
      [...(origin === undefined ? [] : [origin]), ...trustedOrigins].map((one) => originOf(one, 'trustedOrigins')),
    ),
    transport: { trustProxy, allowInsecureHttp },
    allowAnonymous,
    recordMaxAgeMs: recordMaxAgeSeconds * 1000,
    maxBodyBytes,
    log: log ?? createStandardErrorLog(),
  }
}

function authUrlOf({ authServer, allowInsecureHttp = false }: VerifierOptions): string {
  const url = URL.canParse(authServer) ? new URL(authServer) : undefined
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:'
  require(isHttp && url.search === '' && url.hash === '', 'authServer', 'the URL of the auth server')
  const isSafe = url?.protocol === 'https:' || isLoopbackHost(url?.hostname ?? '') || allowInsecureHttp
  require(isSafe, 'authServer', 'an https: URL unless it is on this machine, or allowInsecureHttp is true')
  return authServer.replace(/\/+$/, '')
}

function originOf(text: string, option: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : undefined
  if (origin === undefined || origin === 'null') throw wrong(option, 'an origin such as https://invoices.example')
  return origin
}

const requireWhole = (value: number, option: string, max: number): void =>
  require(Number.isInteger(value) && value >= 0 && value <= max, option, `a whole number from 0 to ${max}`)

function require(isRight: boolean, option: string, expected: string): void {
  if (!isRight) throw wrong(option, expected)
}

const wrong = (option: string, expected: string) => new TypeError(`createVerifier: ${option} must be ${expected}`)

/** A log that writes warnings and errors to standard error, a line each. */
function createStandardErrorLog(): VerifierLog {
  const write = (details: object, message: string): void => {
    const cause = 'err' in details && details.err instanceof Error ? `: ${sentenceOf(details.err)}` : ''
    process.stderr.write(`keyhold-verify: ${message}${cause}\n`)
  }
  return { debug: () => undefined, info: () => undefined, warn: write, error: write }
}

/** What an error says, and the errors behind it. */
const sentenceOf = ({ message, cause }: Error): string =>
  cause instanceof Error ? `${message} (${sentenceOf(cause)})` : message
