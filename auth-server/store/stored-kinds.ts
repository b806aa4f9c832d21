import type { StoredKind } from '../../shared/platform/database/measure-table.ts'

/** The time from which on the last token of a login is worth nothing, in the form of its index. */
const loginEnd =
  '(case when ended_at is null then greatest(tokens_expire_at, refresh_expires_at) else tokens_expire_at end)'

/** What the tables of the auth server hold. */
export const authKinds: readonly StoredKind[] = [
  { name: 'users', table: 'auth.users', madeAt: 'created_at', kept: true, removal: 'by administrators' },
  { name: 'names of users', table: 'auth.principals', kept: true, removal: 'never' },
  {
    name: 'logins',
    table: 'auth.login_families',
    madeAt: 'created_at',
    kept: false,
    removal: 'when their last token expires',
    removedFrom: loginEnd,
  },
  {
    name: 'sessions',
    table: 'auth.sessions',
    madeAt: 'created_at',
    kept: false,
    removal: 'at their end (SESSION_MAX_TTL)',
    removedFrom: 'expires_at',
  },
  {
    name: 'API keys',
    table: 'auth.api_keys',
    madeAt: 'created_at',
    kept: false,
    removal: 'when revoked or expired, after their last token',
  },
  {
    name: 'revoked tokens',
    table: 'auth.ended_tokens',
    madeAt: 'ended_at',
    kept: false,
    removal: 'when they expire',
    removedFrom: 'expires_at',
  },
  { name: 'second factors', table: 'auth.second_factors', madeAt: 'created_at', kept: true, removal: 'by their users' },
  {
    name: 'audit entries',
    table: 'auth.audit_entries',
    madeAt: 'at',
    number: 'seq',
    kept: true,
    removal: 'by `ops audit archive --remove`',
  },
  {
    name: 'used signatures (auth)',
    table: 'auth.used_signatures',
    kept: false,
    removal: 'when they expire',
    removedFrom: 'expires_at',
  },
  {
    name: 'Digest nonces (auth)',
    table: 'auth.digest_counts',
    kept: false,
    removal: 'when they expire',
    removedFrom: 'expires_at',
  },
]
