/** The operation that reads the audit log. */
import type { z } from 'zod'
import type { Operation } from '../../../shared/platform/http/operation.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import { callerProblems } from '../../../shared/protocol/openapi/caller-problems.ts'

/** GET /audit. */
export const describeAudit = (query: z.ZodObject): Operation => ({
  id: 'listAuditEntries',
  summary: 'Read the audit log, oldest first',
  description: 'Needs the right `audit.read`. Ask again behind the last entry for what has been added since.',
  tag: 'operation',
  query,
  answers: { 200: { description: 'Entries.', schema: ref('AuditPage'), headers: ['Link'] } },
  problems: [...callerProblems, 'invalid-parameter', 'missing-right'],
})
