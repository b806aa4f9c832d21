/** Where Keyhold answers otherwise than `oidc-provider`, and why. */

/** A difference. */
export interface Difference {
  /** The names of its cases. */
  readonly cases: RegExp
  readonly keyhold: string
  readonly oidcProvider: string
  readonly reason: string
}

const of = (cases: RegExp, [keyhold, oidcProvider]: readonly [string, string], reason: string): Difference => ({
  cases,
  keyhold,
  oidcProvider,
  reason,
})

/** All of them; the first that fits is that of a case. */
export const differences: readonly Difference[] = [
  of(/127\.0\.0\.1:\/cb$/, ['page', 'code'], 'An empty port is no port (RFC 8252 §7.3).'),
  of(/client_id in capitals/, ['code', 'page'], 'Ids are UUIDs, which are read in both cases (RFC 9562 §4).'),
  of(/^(claims|unknown) twice/, ['page', 'code'], 'Nothing comes twice (RFC 6749 §3.1), what is unknown neither.'),
  of(
    /^\w+ twice(, differently)?$/,
    ['page', 'invalid_request'],
    'Of doubled parameters nobody knows which one is meant.',
  ),
  of(/response_type=.*token/, ['unsupported_response_type', 'fragment: .*'], 'No answer goes into a fragment.'),
  of(/response_type=none/, ['unsupported_response_type', 'invalid_request'], 'It is known to no client.'),
  of(/response_mode=fragment/, ['invalid_request', 'fragment: code'], 'No answer goes into a fragment.'),
  of(/response_mode=form_post/, ['invalid_request', 'page'], 'The page is the form that posts the answer.'),
  of(/response_mode=/, ['invalid_request', 'unsupported_response_mode'], 'No RFC registers this code.'),
  of(/(state|nonce)=(.)\2{9}/, ['invalid_request', 'code'], 'Keyhold bounds what it carries along.'),
  of(/^web: scope=(null|profile|deal\.read|)$/, ['code', 'invalid_request'], 'A nonce without openid harms nobody.'),
  of(/scope=(OPENID|x)$/, ['invalid_scope', 'invalid_request'], 'The scope is what is wrong.'),
  of(
    /scope=( openid |openid ["é])/,
    ['code', 'invalid_scope'],
    'Unknown scopes are ignored, whatever they are made of.',
  ),
  of(/code_challenge=x{9}/, ['invalid_request', 'code'], 'S256 gives 43 characters, never more.'),
  of(/without it and nonce/, ['invalid_request', 'code'], 'Either PKCE or a nonce binds a code (RFC 9700 §2.1.1).'),
  of(/prompt=consent$/, ['code', 'consent'], 'A first-party client asks for no consent.'),
  of(
    /prompt=select_account/,
    ['sign-in', 'invalid_request'],
    'OpenID Connect Core §3.1.2.1 has it; here it is a sign-in.',
  ),
  of(/prompt= none/, ['code', 'invalid_request'], 'Blanks more do no harm.'),
  of(/max_age=(\+50000|1e5)/, ['invalid_request', 'code'], 'A number of seconds has digits alone.'),
  of(/^web: request_uri=urn/, ['page', 'invalid_request_uri'], 'Beside a pushed request nothing else is read.'),
  of(/used twice/, ['code', 'page'], 'A sealed request is stored nowhere; RFC 9126 §4 lets browsers load it again.'),
  of(/: nothing$|no base64|colon|Basic of|: Bearer/, ['401 invalid_client', '400 invalid_request'], 'RFC 6749 §5.2.'),
  of(/web: an empty secret/, ['401 invalid_client', '400 invalid_request'], 'RFC 6749 §5.2.'),
  of(/page: Basic without secret/, ['20[01]', '400 invalid_request'], 'Some libraries name public clients so.'),
  of(/signer: two audiences/, ['401 invalid_client', '20[01]'], 'Another server could send it on (RFC 9700 §4.9).'),
  of(/signer: .* (from later|for a year)/, ['401 invalid_client', '20[01]'], 'RFC 7523 §3 lets a server refuse both.'),
  of(/signer: /, ['401 invalid_client', '400 invalid_request'], 'RFC 6749 §5.2: client authentication failed.'),
  of(/a long text as code/, ['413 invalid_request', '400 invalid_grant'], 'It is longer than bodies may be here.'),
  of(/4\.8 a (short|long) verifier|blanks/, ['400 invalid_grant', '400 invalid_request'], 'RFC 7636 §4.6.'),
  of(
    /=client_credentials/,
    ['400 unauthorized_client', '400 unsupported_grant_type'],
    'API keys and services have this grant.',
  ),
  of(/token, unknown twice/, ['400 invalid_request', '200'], 'Nothing comes twice (RFC 6749 §3.2).'),
  of(/by GET/, ['405 invalid_request', '404'], 'RFC 9110 §15.5.6.'),
  of(/again after 1/, ['200, 200', '400 .*, 400 .*'], 'A client that lost the answer asks again, within a minute.'),
  of(/again after 2/, ['400 .*, 200', '400 .*, 400 .*'], 'The request of a client that asked twice may come late.'),
  of(/par: request_uri/, ['400 invalid_request', '400 request_uri_not_supported'], 'RFC 9126 §2.1.'),
  of(/par: scope=null/, ['201', '400 invalid_request'], 'A nonce without openid harms nobody.'),
  of(/par: scope="x"/, ['400 invalid_scope', '400 invalid_request'], 'The scope is what is wrong.'),
  of(/par: client_id=null/, ['201', '400 invalid_request'], 'The client has said who it is by authenticating.'),
  of(/userinfo, token in the form/, ['401', '200'], 'Tokens come in the header alone (RFC 6750 §2.1).'),
  of(/userinfo, token twice/, ['200', '400 invalid_request'], 'The body is not read.'),
  of(/userinfo, nothing behind/, ['401 invalid_token', '400 invalid_request'], 'RFC 6750 §3.1.'),
  of(/userinfo, /, ['401', '400 invalid_request'], 'RFC 6750 §3.1: without a token there is no error.'),
]
