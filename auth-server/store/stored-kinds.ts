import type { StoredKind } from '../../shared/platform/database/measure-table.ts'
import { nameOfTable } from '../../shared/platform/database/statement.ts'
import { services } from './access-tables.ts'
import { auditEntries } from './audit-tables.ts'
import {
  apiKeys,
  digestCounts,
  endedTokens,
  loginExpiry,
  loginFamilies,
  principals,
  sessions,
  usedSignatures,
  users,
} from './schema.ts'
import { secondFactors } from './second-factor-tables.ts'

/** What the tables of the auth server hold. */
export const authKinds: readonly StoredKind[] = [
  { name: 'users', table: nameOfTable(users), madeAt: users.createdAt, kept: true, removal: 'by administrators' },
  { name: 'names of users', table: nameOfTable(principals), kept: true, removal: 'never' },
  {
    name: 'logins',
    table: nameOfTable(loginFamilies),
    madeAt: loginFamilies.createdAt,
    kept: false,
    removal: 'when their last token expires',
    removedFrom: loginExpiry,
  },
  {
    name: 'sessions',
    table: nameOfTable(sessions),
    madeAt: sessions.createdAt,
    kept: false,
    removal: 'at their end (SESSION_MAX_TTL)',
    removedFrom: sessions.expiresAt,
  },
  {
    name: 'API keys',
    table: nameOfTable(apiKeys),
    madeAt: apiKeys.createdAt,
    kept: false,
    removal: 'when revoked or expired, after their last token',
  },
  {
    name: 'services',
    table: nameOfTable(services),
    madeAt: services.createdAt,
    kept: true,
    removal: 'by administrators',
  },
  {
    name: 'revoked tokens',
    table: nameOfTable(endedTokens),
    madeAt: endedTokens.endedAt,
    kept: false,
    removal: 'when they expire',
    removedFrom: endedTokens.expiresAt,
  },
  {
    name: 'second factors',
    table: nameOfTable(secondFactors),
    madeAt: secondFactors.createdAt,
    kept: true,
    removal: 'by their users',
  },
  {
    name: 'audit entries',
    table: nameOfTable(auditEntries),
    madeAt: auditEntries.at,
    number: auditEntries.seq,
    kept: true,
    removal: 'by `ops audit archive --remove`',
  },
  {
    name: 'used signatures (auth)',
    table: nameOfTable(usedSignatures),
    kept: false,
    removal: 'when they expire',
    removedFrom: usedSignatures.expiresAt,
  },
  {
    name: 'Digest nonces (auth)',
    table: nameOfTable(digestCounts),
    kept: false,
    removal: 'when they expire',
    removedFrom: digestCounts.expiresAt,
  },
]
