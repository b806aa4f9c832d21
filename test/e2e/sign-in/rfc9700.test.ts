/** The attacks of RFC 9700 §4, and the tests that show what becomes of each. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const here = (file: string) => `test/e2e/sign-in/${file}`
const attacks = here('attacks.e2e.test.ts')
const codes = here('authorization-code.e2e.test.ts')
const consent = here('consent.e2e.test.ts')
const requests = here('oracle/authorization-cases.ts')
const tokens = here('oracle/token-cases.ts')
const audiences = 'test/e2e/schemes/audiences.e2e.test.ts'
const onTheWay = 'finds no answer on the way to a code that another status repeats, a cache keeps, a Referer tells or'

/** Section, attack, and for each test its file and a part of its name. */
const table: readonly (readonly [section: number, attack: string, tests: readonly (readonly [string, string])[]])[] = [
  [
    1,
    'insufficient validation of redirect URIs',
    [
      [requests, '4.1 web: redirect_uri='],
      [requests, '4.1 native: redirect_uri='],
      [attacks, 'gets no code at a redirect URI that the client has given up'],
      ['test/auth-server/clients/redirect-uri.test.ts', 'has a scheme of its own with a dot in it only for a public'],
    ],
  ],
  [2, 'credentials in the Referer', [[attacks, onTheWay]]],
  [
    3,
    'credentials in the history of the browser',
    [
      [codes, 'works once: a second use ends what came of the first'],
      [tokens, '?access_token='],
      [attacks, onTheWay],
    ],
  ],
  [
    4,
    'mix-up',
    [
      [codes, 'signs a person in: sign-in page, code, tokens, claims, deals, a refresh'],
      [here('oracle/ask.ts'), 'RFC 9207 wants `iss` in both'],
    ],
  ],
  [
    5,
    'injection of codes',
    [
      [tokens, 'token, 4.5 a code twice'],
      [tokens, 'token, 4.5 a code of another client'],
      [codes, 'used twice at once makes at most one login, which ends'],
    ],
  ],
  [
    6,
    'injection of access tokens',
    [
      [here('certification/modules.ts'), 'at_hash'],
      [requests, "'id_token', 'code id_token', 'code token'"],
    ],
  ],
  [
    7,
    'cross-site request forgery',
    [
      [consent, 'is bound to the session that was asked, and to this site'],
      [tokens, '4.8 another verifier'],
      [here('device.e2e.test.ts'), 'is allowed by a session alone, on this site alone'],
    ],
  ],
  [
    8,
    'downgrade of PKCE',
    [
      [requests, '4.8 a client that needs PKCE without it'],
      [tokens, '4.8 no verifier'],
      [tokens, '4.8 a verifier after a request without challenge'],
    ],
  ],
  [
    9,
    'access tokens that a resource server leaks',
    [[audiences, 'is for the resource server alone whose audience was asked for']],
  ],
  [
    10,
    'misuse of stolen access tokens',
    [
      [audiences, 'asks no caller with a token for another audience in'],
      [here('interleavings.property.e2e.test.ts'), 'no token is good a second'],
    ],
  ],
  // Administrators alone register clients: nobody else has a redirect URI to send a user to by an error.
  [
    11,
    'open redirection',
    [
      [requests, '4.11 another client with the redirect_uri of this one'],
      [here('sign-out.e2e.test.ts'), 'leads nowhere that is not registered, whatever else is right'],
      [here('clients.e2e.test.ts'), 'are made, changed and rotated only by holders of every right'],
    ],
  ],
  [
    12,
    'a redirect by 307',
    [
      [attacks, onTheWay],
      [here('oracle/ask.ts'), 'RFC 9700 §4.12: another status would send a form on.'],
    ],
  ],
  [
    13,
    'reverse proxies that end TLS',
    [
      [
        'test/shared/platform/http/transport.test.ts',
        'is the peer itself without a trusted proxy, whatever the headers',
      ],
      ['test/shared/platform/http/server/edge.test.ts', 'forwarding headers of a trusted proxy that contradict each'],
    ],
  ],
  [
    14,
    'stolen refresh tokens',
    [
      [tokens, 'refresh, 4.14 the first token again after'],
      [tokens, '4.14 by another client'],
      [attacks, 'gets no rights that the client has lost, by a request, a code or a refresh token from before'],
      [codes, 'gives logins whose refresh may ask for less, once, and never for more'],
    ],
  ],
  [15, 'a client that passes for a user', [[attacks, 'is nobody by an id that is the name of a user']]],
  [
    16,
    'clickjacking',
    [
      [attacks, onTheWay],
      [attacks, 'gets nothing to hold in a frame by prompt=none: each answer is a redirect to the client'],
    ],
  ],
  // Answers go by redirect alone, and no page of ours sends messages to windows.
  [17, 'communication inside the browser', [[requests, "'web_message'"]]],
]

it('names every section of RFC 9700 §4 once, in order', () => {
  expect(table.map(([section]) => section)).toEqual(Array.from({ length: 17 }, (_, at) => at + 1))
})

it.each(table)('4.%i %s is shown by tests that exist', (_section, _attack, tests) => {
  expect(tests.length).toBeGreaterThan(0)
  const missing = tests.filter(
    ([file, name]) => !readFileSync(join(import.meta.dirname, '../../..', file), 'utf8').includes(name),
  )
  expect(missing).toEqual([])
})
