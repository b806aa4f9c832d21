/** The problem codes of the auth server. `invalid_grant` is spelt as in RFC 6749 §5.2. */
import type { ProblemEntry } from '../../platform/problems/problem-document.ts'

/** The codes that only the auth server uses. */
export const authProblems = {
  invalid_grant: {
    status: 400,
    title: 'The refresh token is not accepted',
    meaning:
      'The token is no refresh token, has expired, its login has ended, or it was used before and may not be ' +
      'repeated any more.',
    remedy:
      'Log in again. Keep only the newest refresh token. If an answer was lost, repeat the request at once: a ' +
      'token that comes back after the time for repeating, or after its successor was used, ends the login.',
  },
  'untrusted-proxy': {
    status: 403,
    title: 'Only a trusted proxy may ask here',
    meaning:
      'GET /verify answers about requests to other services. The one who asks is no proxy that the operator has named, ' +
      'or the proxy does not say who its client is.',
    remedy:
      'Call the service itself. Operators put the address of the proxy into TRUST_PROXY, and let the proxy write ' +
      'X-Forwarded-For.',
  },
  'invalid-original-request': {
    status: 403,
    title: 'The request that the proxy asks about is not known',
    meaning:
      'X-Forwarded-Method, -Uri, -Host or -Proto is missing, there twice or malformed, or the path can be spelled in ' +
      'another way: it has a dot segment or encodes characters that need no encoding.',
    remedy:
      'Send a plain path, and none of these fields. Operators let the proxy write each of the four, whatever its client ' +
      'sent.',
  },
  'body-not-forwarded': {
    status: 401,
    title: 'The body that the signature binds is not seen here',
    meaning:
      'The signature must bind the body, or does, and the proxy in front of the service neither passed the body on nor ' +
      'said that there is none.',
    remedy:
      'Use another scheme for this request, such as an access token. Operators can let the proxy pass bodies on, or say ' +
      'their length.',
  },
  'invalid-reset-code': {
    status: 403,
    title: 'The link for a new password is not accepted',
    meaning: 'The link was used, replaced by a newer one, has expired, or the password was changed in another way.',
    remedy: 'Ask an administrator for a new link, and use it within an hour.',
  },
  'second-factor-required': {
    status: 401,
    title: 'The second factor is required',
    meaning: 'The password is right. This user also needs a one-time code, a passkey or a recovery code.',
    remedy:
      'Send challenge with code, or with the answer of a passkey to publicKey, to the same route within five ' +
      'minutes; or send code with user name and password at once.',
  },
  'invalid-second-factor': {
    status: 401,
    title: 'The second factor is not right',
    meaning: 'The code or the passkey is not right, was used before, or the challenge is over. A code works once.',
    remedy: 'Wait for the next code, or log in again from the beginning. With the factor lost, use a recovery code.',
  },
  'second-factor-enrolment-required': {
    status: 403,
    title: 'The user must set a second factor up',
    meaning: 'The password is right. The role of this user demands a second factor, and none is set up yet.',
    remedy:
      'Put totp.secret (or totp.uri as a QR code) into an authenticator app, and send challenge with its code to the ' +
      'same route within five minutes.',
  },
  'second-factor-not-confirmed': {
    status: 403,
    title: 'The second factor is not set up',
    meaning: 'The code or the passkey does not belong to this set-up, or its challenge has expired.',
    remedy: 'Check the clock of the device and send the present code, or begin the set-up again.',
  },
  'second-factor-missing': {
    status: 409,
    title: 'The user has no second factor',
    meaning: 'Recovery codes stand in for a second factor, and none is set up.',
    remedy: 'Set one-time codes or a passkey up first.',
  },
  'too-many-second-factors': {
    status: 409,
    title: 'The user has as many second factors as one may have',
    meaning: 'Each user may have 20 second factors.',
    remedy: 'Remove one that is no longer used, then try again.',
  },
  'last-admin': {
    status: 409,
    title: 'The last enabled admin cannot be removed',
    meaning: 'After this change nobody could manage users any more.',
    remedy: 'Make another enabled user an admin first.',
  },
  'role-exists': {
    status: 409,
    title: 'There is a role of this name already',
    meaning: 'Each role has a name of its own.',
    remedy: 'Choose another name, or change the role that exists.',
  },
  'reserved-role': {
    status: 409,
    title: 'The role must stay as it is',
    meaning: 'The role admin always has all rights. A role that SECOND_FACTOR_ROLES names cannot be deleted.',
    remedy: 'Make another role, or take this one out of the setting first.',
  },
  'too-many-roles': {
    status: 409,
    title: 'There are as many roles as there can be',
    meaning: 'There can be 500 roles.',
    remedy: 'Delete roles that are no longer used, then try again.',
  },
  'resource-server-exists': {
    status: 409,
    title: 'There is a resource server with this id or audience already',
    meaning: 'Ids and audiences are unique. The public origins of the servers name the audience of the pair.',
    remedy: 'Choose another id or audience, or change the resource server that exists.',
  },
  'right-exists': {
    status: 409,
    title: 'There is a right of this name already',
    meaning: 'Each right belongs to one resource server, so its name is unique among all of them.',
    remedy: 'Choose another name.',
  },
  'reserved-resource-server': {
    status: 409,
    title: 'This part of the resource server must stay',
    meaning: 'The servers themselves are a resource server: its audience is a setting, and they check its rights.',
    remedy: 'Change the setting AUDIENCE instead, or leave the rights that the servers check in the list.',
  },
  'too-many-resource-servers': {
    status: 409,
    title: 'There are as many resource servers as there can be',
    meaning: 'There can be 200 resource servers.',
    remedy: 'Delete resource servers that are no longer used, then try again.',
  },
  'too-many-rights': {
    status: 409,
    title: 'There are as many rights as there can be',
    meaning: 'All resource servers together can have 2,000 rights.',
    remedy: 'Withdraw rights that are no longer used, then try again.',
  },
  'reserved-user': {
    status: 409,
    title: 'The principal anonymous is neither created nor deleted',
    meaning: 'The user anonymous stands for callers without a name: it always exists and has no password.',
    remedy: 'Choose another name; of anonymous itself only roles and rights can be changed.',
  },
  'too-many-api-keys': {
    status: 409,
    title: 'The user has as many API keys as one may have',
    meaning: 'Each user may have 100 API keys that have neither been revoked nor expired.',
    remedy: 'Revoke keys that are no longer used, then try again.',
  },
  'too-many-key-pairs': {
    status: 429,
    title: 'Too many RSA pairs were made for this user within a minute',
    meaning: 'To make a pair costs much computing time, so one user may have only some made in a minute.',
    remedy: 'Wait as many seconds as Retry-After says, or make the pair yourself and send its publicKeyPem.',
  },
  'exchange-not-open': {
    status: 403,
    title: 'The exchange is not open to this credential',
    meaning: 'Some exchanges below /internal are for the deal server alone, others for services alone.',
    remedy: 'Ask what the page on services lists. For a request of a caller, ask /internal/verify-request.',
  },
  'service-exists': {
    status: 409,
    title: 'There is a service of this name already',
    meaning: 'Each service has another name, so that lists and people tell them apart.',
    remedy:
      'Choose another name. If the answer with the secret was lost, rotate the secret of the service that exists.',
  },
  'too-many-services': {
    status: 409,
    title: 'There are as many services as there can be',
    meaning: 'There may be 1,000 services.',
    remedy: 'Delete services that are no longer used, then try again.',
  },
  'invalid-authorization-request': {
    status: 400,
    title: 'The request of the application is not right',
    meaning: 'It names no client, or an address that the client has not registered, or it has expired.',
    remedy: 'Go back to the application and sign in again. Its developer finds the reason in the detail.',
  },
  'invalid-user-code': {
    status: 400,
    title: 'No device waits with this code',
    meaning: 'The code is mistyped, somebody has answered it, or it is older than ten minutes.',
    remedy: 'Compare it with what the device shows. If that is the same, begin again on the device.',
  },
  'too-many-device-requests': {
    status: 429,
    title: 'Too many devices wait for their users',
    meaning: 'As many requests of devices as there can be came from this network, or in all, within ten minutes.',
    remedy: 'Wait as many seconds as Retry-After says. Let devices begin again only when their users ask for it.',
  },
  'client-exists': {
    status: 409,
    title: 'There is a client of this name already',
    meaning: 'Each client has another name, so that users know which one asks them.',
    remedy: 'Choose another name. If the answer with the secret was lost, rotate the secret of the client that exists.',
  },
  'too-many-clients': {
    status: 409,
    title: 'There are as many clients as there can be',
    meaning: 'There may be 1,000 clients.',
    remedy: 'Delete clients that are no longer used, then try again.',
  },
  'client-without-secret': {
    status: 409,
    title: 'The client has no secret',
    meaning: 'A public client cannot keep a secret, and a client with a key proves itself by the key.',
    remedy: 'Change the key by PATCH, or make a confidential client without a key.',
  },
  'user-disabled': {
    status: 409,
    title: 'The user is disabled',
    meaning: 'A disabled user cannot log in, and a link for a new password would not let the user in.',
    remedy: 'Enable the user first, then make the link.',
  },
  'user-exists': {
    status: 409,
    title: 'There is a user of this name already',
    meaning: 'User names differ by more than the case of letters, and this one is taken.',
    remedy: 'Choose another name, or change the user that exists.',
  },
  'too-many-logins': {
    status: 429,
    title: 'Too many ended logins of this user are still remembered',
    meaning: 'Ended logins are remembered until their last token has expired, and this user has as many as can be.',
    remedy:
      'Wait as many seconds as Retry-After says. Keep one login and refresh it instead of logging in for each call.',
  },
} as const satisfies Record<string, ProblemEntry>
