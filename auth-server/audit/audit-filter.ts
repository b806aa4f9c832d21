/** The values of filters of the audit log, for `GET /audit` and for the tool of the operators. */
import * as z from 'zod'
import { timeParameter } from '../../shared/platform/http/content/time-parameter.ts'

const name = z.string().regex(/^[A-Za-z0-9._@-]{1,64}$/, 'Expected a user name or an id')

/** The members of a filter, as texts. */
export const auditFilterShape = {
  actor: name.optional().meta({ description: 'A user name. The case of letters does not matter.' }),
  action: z
    .string()
    .regex(/^[a-z][a-z.-]{0,62}\*?$/, 'Expected an action, or its beginning followed by *')
    .optional()
    .meta({ description: 'An action such as `user.changed`, or the beginning of actions, such as `key.*`.' }),
  target: name.optional().meta({ description: 'A user name or an id. The case of letters does not matter.' }),
  outcome: z
    .string()
    .regex(/^[a-z][a-z_-]{0,63}$/, 'Expected succeeded or a code')
    .optional()
    .meta({ description: '`succeeded`, or the code of a refusal.' }),
  from: timeParameter('Entries of this time or later.'),
  to: timeParameter('Entries before this time.'),
}

/** True when the span of a filter, in the form of `timeParameter`, can hold a time. */
export const isSpan = ({ from, to }: { readonly from?: string | undefined; readonly to?: string | undefined }) =>
  from === undefined || to === undefined || from < to
