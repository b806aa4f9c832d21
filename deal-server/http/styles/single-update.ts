/** Style 3: one path for all actions, `PUT /rest/v1/deals/{id}` with `{action, params}`. */
import * as z from 'zod'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { checkValue, invalidValue } from '../../../shared/platform/problems/check-value.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import { commandNamed, commandNames } from '../../use-cases/index.ts'
import { isAttribute } from '../../use-cases/update-deal/attributes.ts'
import { requireRepeatable, withoutRepeatedId } from '../requests/deal-target.ts'
import type { Invocation } from '../requests/invocation.ts'
import { dealCommand } from './action-sub-resource.ts'

/** Any object, unchanged: a copy would omit a member `__proto__`, which must be refused like any unknown member. */
const anyObject = z.unknown().superRefine((input, context) => {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return
  context.addIssue({ code: 'invalid_type', expected: 'object', input })
})

/** A body that names a command, in styles 3, 5 and 6. */
export const actionSchema = z.strictObject({ action: z.string(), params: anyObject.default({}) })

/** The command with this name. @throws ProblemError `invalid-value` */
export function commandOfAction(action: string): Command {
  const command = commandNamed(action)
  if (command) return command
  const message = `There is no use case of this name. There are: ${commandNames.join(', ')}.`
  throw invalidValue([{ pointer: '/action', code: 'unknown-action', message }])
}

/** Decodes the command that the body names, on the deal in the path. */
export function decodeSingleUpdate(request: HttpRequest, dealId: string, body: object): Invocation {
  const attributes = Object.keys(body).filter((name) => name !== 'id' && isAttribute(name))
  if (attributes.length > 0) {
    const errors = attributes.map((name) => ({
      pointer: `/${name}`,
      code: 'ambiguous-member',
      message: 'Not beside action.',
    }))
    throw new ProblemError('ambiguous-update', 'Send either action and params, or the attributes of the deal.', {
      members: { errors },
    })
  }
  const { action, params } = checkValue(actionSchema, withoutRepeatedId(body, dealId))
  const bound = commandOfAction(action).bind(withoutRepeatedId(params, dealId), '/params')
  const invocation = dealCommand(request, bound, dealId)
  requireRepeatable(request, invocation)
  return { ...invocation, style: 'single-update' }
}
