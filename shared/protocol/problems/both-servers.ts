/** The problem codes of both servers: about the request, about the credential, about the server itself. */
import type { PlatformProblems, ProblemEntry } from '../../platform/problems/problem-document.ts'

const requestProblems = {
  'malformed-request': {
    status: 400,
    title: 'The request is not well-formed HTTP',
    meaning: 'The request line, a header field or the framing of the body breaks the rules of HTTP/1.1.',
    remedy: 'Send exactly one Host field and a body as long as it says, best with a well-kept HTTP library.',
  },
  'contradicting-forwarding-headers': {
    status: 400,
    title: 'The forwarding headers contradict each other',
    meaning:
      'A trusted proxy passed on Forwarded, X-Forwarded-For, X-Forwarded-Proto or X-Real-IP with different clients ' +
      'or schemes in them.',
    remedy:
      'Send none of these fields yourself. The operator has every proxy write or remove each of them, and sets ' +
      'TRUST_PROXY to the proxies there are.',
  },
  'dot-segment': {
    status: 400,
    title: 'The path has a dot segment',
    meaning:
      'A segment of the path is . or .., plain or percent-encoded: a proxy in front may have decided by another ' +
      'path than the one it leads to.',
    remedy: 'Send the path that is meant. Most clients resolve dot segments themselves before they send a request.',
  },
  'encoded-unreserved': {
    status: 400,
    title: 'The path encodes characters that need no encoding',
    meaning:
      'The path has a percent-encoded letter, digit, hyphen, dot, underscore or tilde (RFC 3986, section 2.3): a proxy ' +
      'in front may have decided by another spelling of the path.',
    remedy: 'Send these characters as they are. Clients that follow RFC 3986 do.',
  },
  'invalid-body': {
    status: 400,
    title: 'The body cannot be read as what this route expects',
    meaning: 'The body is not valid JSON in UTF-8, or a member is missing, unknown or of the wrong JSON type.',
    remedy: 'Correct the members that errors points to; the OpenAPI document has the schema of each body.',
  },
  'invalid-parameter': {
    status: 400,
    title: 'A parameter of the URL or a header field cannot be read',
    meaning:
      'A parameter of the query or the path, or a header field, is unknown, given twice or not of the form it must ' +
      'have.',
    remedy:
      'Read detail for the parameter at fault and what was expected, and send the request again with it corrected.',
  },
  'invalid-cursor': {
    status: 400,
    title: 'The cursor is not one of this query',
    meaning: 'A cursor leads on only in the query whose answer it came with: same filters, same order.',
    remedy: 'Follow nextCursor or the Link field with all other parameters unchanged, or begin again without a cursor.',
  },
  'not-found': {
    status: 404,
    title: 'There is no such thing',
    meaning: 'Nothing answers to this path: no such route, user, deal, command or key, or a query that found nothing.',
    remedy: 'Check the path and the id in it. A deleted deal is not found either, until it is restored.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not allowed here',
    meaning: 'The path is served, but not with this method.',
    remedy: 'Use one of the methods that the Allow field of the answer names.',
  },
  'request-timeout': {
    status: 408,
    title: 'The request took too long to arrive',
    meaning: 'Header fields or body did not arrive in full within the time the server waits for them.',
    remedy: 'Send the request again, at once and in full.',
  },
  'body-too-large': {
    status: 413,
    title: 'The body is too large',
    meaning:
      'The body has more bytes than the route takes: 256 KiB; 4 MiB for commands in lines, with 64 KiB for a line; ' +
      '16 KiB where logins and tokens are asked for.',
    remedy: 'Send less in one request.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'The body must be JSON in UTF-8',
    meaning:
      'Content-Type names something else than what this route takes, another charset, or the body is compressed.',
    remedy:
      'Send application/json or another +json type, in UTF-8 and uncompressed; a form only where forms are taken.',
  },
  'expectation-failed': {
    status: 417,
    title: 'The Expect header cannot be met',
    meaning: 'The request expects something of the server besides 100-continue, which is all it understands.',
    remedy: 'Send the request without the Expect field.',
  },
  'misdirected-request': {
    status: 421,
    title: 'The request is for another host',
    meaning:
      'The server listens on loopback, and the Host field names neither this machine nor the host of a public ' +
      'origin, as when a foreign web page calls it by a name of its own.',
    remedy:
      'Use localhost, 127.0.0.1 or a public origin. Operators set AUTH_PUBLIC_ORIGIN and DEAL_PUBLIC_ORIGIN to ' +
      'what clients use, and let a proxy pass its Host on.',
  },
  'invalid-value': {
    status: 422,
    title: 'A value is of the right type but not acceptable',
    meaning:
      'The body can be read, but a value is too long, too large, not of its format or not one of those possible.',
    remedy: 'Correct the members that errors points to; the code beside each says what is wrong with it.',
  },
  'headers-too-large': {
    status: 431,
    title: 'The header fields are too large',
    meaning: 'The request line and the header fields together have more than 16 KiB.',
    remedy:
      'Send fewer or shorter fields; cookies that other applications of the same host have set are a common cause.',
  },
} as const satisfies Record<string, ProblemEntry>

const signatureProblems = {
  'ambiguous-parameter': {
    status: 400,
    title: 'Two different requests would have this signature',
    meaning:
      'A name holds = or &, a value holds &, or two names differ by the case of letters alone: the string that is ' +
      'signed could be read in two ways.',
    remedy: 'Leave these characters out of signed parameters, or sign the request by RFC 9421 instead.',
  },
  'body-hash-required': {
    status: 400,
    title: 'The signature must cover the body',
    meaning: 'The API key was made to bind bodies, and this request has a body that the signature does not cover.',
    remedy:
      'Add the parameter bodySha256, the SHA-256 of the body in hexadecimal, and sign it with the others; by RFC ' +
      '9421, cover Content-Digest.',
  },
  'signature-method-required': {
    status: 400,
    title: 'The signature must cover the method',
    meaning:
      'The API key was made to bind requests, and this one changes something without its method signed: whoever ' +
      'got hold of it could send it with another one.',
    remedy: 'Add the parameter method with the method of the request and sign it with the others.',
  },
  'signature-audience-required': {
    status: 400,
    title: 'The signature must say which service it is for',
    meaning:
      'Another service than the auth server and the deal server checks the signature. Without its audience or its ' +
      'origin signed, the service could send the request on to another one.',
    remedy:
      'Add the parameter audience with the audience or the origin of the service and sign it with the others; by RFC ' +
      '9421, cover @authority.',
  },
  'invalid-signature': {
    status: 401,
    title: 'The signature is not right',
    meaning: 'The API key does not exist or has ended, or the signature does not belong to this request.',
    remedy:
      'Compare the string you sign with the rules: path, ?, then the sorted parameters, decoded; then check the key.',
  },
  'signature-too-old': {
    status: 401,
    title: 'The request was signed too long ago',
    meaning: 'The time in the signature lies further in the past than the server accepts.',
    remedy: 'Sign each request just before it is sent; if your clock is slow, set it by serverTime in the answer.',
  },
  'signature-from-future': {
    status: 401,
    title: 'The request was signed in the future',
    meaning: "The time in the signature lies further ahead of the server's clock than the server accepts.",
    remedy: 'Set your clock right; serverTime in the answer is the time of the server in seconds.',
  },
  'signature-used': {
    status: 401,
    title: 'The signature has been used already',
    meaning: 'A signature of a request that changes something works once, and this one has worked.',
    remedy: 'Sign again, with another timestamp or nonce. To repeat a command safely, give it a command id.',
  },
} as const satisfies Record<string, ProblemEntry>

const credentialProblems = {
  'several-credentials': {
    status: 400,
    title: 'More than one credential in one request',
    meaning: 'The request carries more than one credential, and the server does not choose between them.',
    remedy:
      'Send exactly one. A browser adds the session cookie by itself: sign out to use another scheme. If it has two of ' +
      'them, sign in again, or delete the cookies of this site.',
  },
  'token-expired': {
    status: 400,
    title: 'The token has expired',
    meaning: 'The token was right, and its time is over.',
    remedy:
      'Get a new access token with the refresh token at /refresh, or a new key-signed token; then send the request ' +
      'again.',
  },
  unauthenticated: {
    status: 401,
    title: 'A credential is needed',
    meaning: 'This route needs to know who calls, and the request says nothing about it.',
    remedy: 'Send a credential by one of the schemes that the member schemes names.',
  },
  'unknown-scheme': {
    status: 401,
    title: 'This authentication scheme is not served',
    meaning:
      'The Authorization field names a scheme that this server does not know or that its operator has turned off.',
    remedy: 'Use one of the schemes that the member schemes names.',
  },
  'invalid-token': {
    status: 401,
    title: 'The token is not valid',
    meaning: 'The token was not issued here, is for another purpose, was changed, or its key is no longer accepted.',
    remedy: 'Log in again. An access token goes to every route but /refresh, which takes the refresh token.',
  },
  'wrong-audience': {
    status: 401,
    title: 'The credential is for another service',
    meaning:
      'The token or session is right, but resource chose another audience for it, and each service takes those for ' +
      'its own audience only.',
    remedy: 'Get a token or session for this service: without resource it is for the auth server and the deal server.',
  },
  'token-password-required': {
    status: 401,
    title: 'The token needs its password',
    meaning: 'The key-signed token holds the hash of a password, and the request does not carry that password.',
    remedy: 'Send X-Key-Signed-Password: the password in UTF-8, base64url, with every request that carries this token.',
  },
  'invalid-credentials': {
    status: 401,
    title: 'User name or password is not right',
    meaning: 'There is no enabled user with this name and password. Which of these it is, nobody is told.',
    remedy: 'Check both, and send them as UTF-8. Repeated failures are refused for a while.',
  },
  'invalid-session': {
    status: 401,
    title: 'The session does not exist or has ended',
    meaning: 'The session was ended, was not used for too long or has reached its longest life.',
    remedy: 'Sign in again for a new session.',
  },
  'stale-nonce': {
    status: 401,
    title: 'The nonce is too old; the challenge has a new one',
    meaning: 'The Digest answer was made for a nonce whose time is over or whose counter was used before.',
    remedy: 'Answer the new challenge with the same user name and secret; clients of RFC 7616 do so by themselves.',
  },
  'scheme-without-second-factor': {
    status: 403,
    title: 'The user needs a second factor, which this scheme cannot carry',
    meaning: 'Basic, Digest and key-signed tokens prove a password or a secret alone, and this user needs more.',
    remedy: 'Log in with POST /login or POST /sessions and the second factor; programs use an API key.',
  },
  'api-key-suspended': {
    status: 403,
    title: 'The API key is suspended until its owner confirms it',
    meaning: 'The key was made without a second factor, which its owner has set up since, or needs now.',
    remedy:
      'The owner confirms the key with POST /api-keys/{id}/confirm, or at the console, by a login with the factor.',
  },
  'login-ended': {
    status: 401,
    title: 'The login this credential belongs to has ended',
    meaning: 'The user logged out, changed the password or was logged out everywhere after this credential was made.',
    remedy: 'Log in again for new tokens.',
  },
  'principal-disabled': {
    status: 401,
    title: 'The user of this credential is disabled or does not exist',
    meaning: 'The credential itself is right, but its user has been disabled or deleted.',
    remedy: 'Ask an administrator to enable the user; trying again does not help.',
  },
  'insecure-transport': {
    status: 403,
    title: 'Credentials are accepted over HTTPS only',
    meaning: 'The request came over plain HTTP from another machine, where others could have read the credential.',
    remedy:
      'Use https. The credential was sent in the clear: consider changing it. Behind a proxy, the operator sets ' +
      'TRUST_PROXY.',
  },
  'cross-site': {
    status: 403,
    title: 'A page of another site made this request',
    meaning: 'A browser sent its credential along with a changing request that a page of a foreign origin made.',
    remedy: 'Call from a page of either server, or have the operator add the origin to CORS_ORIGINS.',
  },
  'missing-right': {
    status: 403,
    title: 'The caller lacks a right',
    meaning: 'The caller is known, but the request needs a right that neither roles nor direct rights include.',
    remedy: 'Ask an administrator for the right that missingRight names.',
  },
  'too-many-attempts': {
    status: 429,
    title: 'Too many failed attempts',
    meaning: 'Too many attempts with wrong credentials came for this account or from this network in a short time.',
    remedy: 'Wait as many seconds as Retry-After says, then try with the right credentials.',
  },
} as const satisfies Record<string, ProblemEntry>

const accountProblems = {
  'wrong-password': {
    status: 403,
    title: 'The password is not right',
    meaning:
      'A new password of their own, an API key, a Digest secret and a webhook are for users who know their present ' +
      'password, and this was not it.',
    remedy:
      'Send your present password, as oldPassword with a new one, else as password; if it is lost, an ' +
      'administrator can set a new one.',
  },
  'second-factor-login-required': {
    status: 403,
    title: 'A login with the second factor is required',
    meaning:
      'The user has a second factor, or needs one. A factor, an API key, a Digest secret or a webhook outlives the login ' +
      'that makes it, so a password or a key without the factor is not enough to touch them.',
    remedy:
      'Log in with the second factor, and send the request with that login or session; or send the password and a ' +
      'one-time code with the request.',
  },
  'recent-login-required': {
    status: 403,
    title: 'The password or a recent login is required',
    meaning:
      'An API key, a Digest secret or a webhook outlives the login that makes it, so a token or a key alone is not ' +
      'enough to make one.',
    remedy: 'Send your password in the member password, or log in again and repeat the request within five minutes.',
  },
  'narrowed-credential': {
    status: 403,
    title: 'A credential of narrowed rights does not act for the account of its user',
    meaning:
      'An API key or a token that lets only some of the rights of its user through, and the token of a service behind ' +
      'a proxy, cannot see or end logins, or make a webhook.',
    remedy: 'Log in as the user, or use a key without rights of its own.',
  },
  'precondition-failed': {
    status: 412,
    title: 'It is not in the state the request was made for',
    meaning: 'If-Match, If-None-Match or the version in the body does not hold: it has changed since it was read.',
    remedy: 'Look at what is there now, decide again and send its entity tag or version.',
  },
} as const satisfies Record<string, ProblemEntry>

const serverProblems = {
  'too-many-streams': {
    status: 429,
    title: 'Too many streams are open',
    meaning:
      'The live streams and downloads that one user may have at once are limited, and so are the streams of the change ' +
      'feed of a service, and those of a server in all; detail says which limit it is.',
    remedy:
      'End one that is not needed, or try again after the seconds that Retry-After says. One live stream tells of ' +
      'all deals.',
  },
  'internal-error': {
    status: 500,
    title: 'Something went wrong in the server',
    meaning: 'The server made a mistake. The request itself may be perfectly right.',
    remedy:
      'Tell the operator the requestId, under which it is in the log. Repeat commands only with their command id.',
  },
  unavailable: {
    status: 503,
    title: 'Something this server depends on does not answer',
    meaning:
      'The database, the cache, the auth server or a free place for hashing was not there in time. Nothing was ' +
      'half done.',
    remedy: 'Try again after the seconds that Retry-After says; with the same command id nothing happens twice.',
  },
} as const satisfies Record<string, ProblemEntry>

/** The codes that both servers use. */
export const sharedProblems = {
  ...requestProblems,
  ...signatureProblems,
  ...credentialProblems,
  ...accountProblems,
  ...serverProblems,
} satisfies PlatformProblems
