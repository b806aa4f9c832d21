/** The operation that reads the audit log. */
import type { z } from 'zod'
import { ref } from '../../../shared/openapi/json-schema.ts'
import type { Operation } from '../../../shared/openapi/operation.ts'
import { callerProblems } from '../../../shared/openapi/problem-answers.ts'

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
