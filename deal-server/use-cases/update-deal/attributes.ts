/** The members that an attribute update may send: members that change something, and members that are ignored. */
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import type { Deal } from '../../domain/deal.ts'
import { shownFields } from '../../domain/deal-fields.ts'
import { type DealRefusal, refuse, refuseMember } from '../../domain/refusal.ts'
import { shownTask } from '../../domain/task.ts'
import {
  amount,
  anyText,
  anyValue,
  calendarDate,
  completionMembers,
  nameText,
  reasonCode,
  reasonText,
  username,
} from '../parameters.ts'

const reason = reasonText.nullable().optional()
const penalty = amount.nullable().optional()
/** Set by the server: ignored and never compared, so that a repetition of the same PUT succeeds. */
const ignored = anyValue.optional()

/** The fields that no attribute changes, and that are not compared. */
const ignoredFields = Object.fromEntries(shownFields.map((name) => [name, ignored])) as Record<never, never>

/** The representation of a deal as clients may send it, whole or in part (docs/deal-model.md#attribute-differences). */
export const attributesSchema = z
  .strictObject({
    ...ignoredFields,
    name: nameText.optional(),
    price: amount.optional(),
    priceReason: reason,
    completionDate: calendarDate.nullable().optional(),
    completionDatePenalty: penalty,
    completionDateReason: reason,
    ownerId: username.optional(),
    status: z.enum(['open', 'completed', 'cancelled', 'deleted']).optional(),
    held: z.boolean().optional(),
    holdReason: reason,
    holdReasonCode: reasonCode.nullable().optional(),
    cancelReason: reason,
    cancelPenalty: penalty,
    completion: z.strictObject(completionMembers).nullable().optional(),
    reopenReason: reason,
    version: z.number().int().optional(),
    id: anyText.optional(),
    currency: anyText.optional(),
    tasks: ignored,
    priceText: ignored,
    allowed: ignored,
    withoutEffect: ignored,
    blocked: ignored,
    links: ignored,
  })
  .readonly()

/** The checked attributes, without those that were not sent. */
export type Attributes = z.output<typeof attributesSchema>

/** True for the name of an attribute. */
export const isAttribute = (name: string): boolean => Object.hasOwn(attributesSchema.unwrap().shape, name)

/** The members that every PUT must send. All others are unchanged when they are absent. */
export const requiredAttributes = ['name', 'price', 'held'] as const

/** The refusal of a PUT without a required member, or of one that holds a deal with the reason `null`. */
export function missingAttributes(attributes: Attributes): DealRefusal | undefined {
  const missing: string[] = requiredAttributes.filter((name) => attributes[name] === undefined)
  if (attributes.held === true && attributes.holdReason === null) missing.push('holdReason')
  return missing.length === 0 ? undefined : incomplete(missing)
}

/** The refusal of a PUT that newly holds a deal without a reason. */
export function missingHoldReason({ held, holdReason, status }: Attributes, deal: Deal): DealRefusal | undefined {
  const isNewHold = held === true && !deal.held && status !== 'cancelled'
  return isNewHold && holdReason === undefined && deal.holdReason === null ? incomplete(['holdReason']) : undefined
}

function incomplete(missing: readonly string[]): DealRefusal {
  const message = 'A PUT needs this member.'
  const errors = missing.map((name) => ({ pointer: `/${name}`, code: 'missing-member', message }))
  return refuse('incomplete-representation', `A PUT needs the members: ${missing.join(', ')}.`, { errors })
}

/** The refusal of a change that needs a use case, or that no use case can make. */
export function unsupportedChange(attributes: Attributes, deal: Deal): DealRefusal | undefined {
  const readOnly = (name: string) =>
    refuseMember('read-only-attribute', { name, problem: 'read-only', message: 'This attribute cannot be changed.' })
  if (attributes.id !== undefined && attributes.id.toLowerCase() !== deal.id) return readOnly('id')
  if (attributes.currency !== undefined && attributes.currency !== deal.currency) return readOnly('currency')
  const needs = (name: string, useCases: string) =>
    refuseMember('use-case-required', { name, problem: 'use-case-required', message: `Call ${useCases} instead.` })
  if (attributes.status === 'deleted') return needs('status', 'DeleteDeal')
  return attributes.tasks === undefined || isTasksOf(attributes.tasks, deal)
    ? undefined
    : needs('tasks', 'AddTask, AssignTask, UnassignTask or CompleteTask')
}

/** True for the stored tasks, also as they were before the deal was closed: closing drops open tasks. */
function isTasksOf(tasks: unknown, deal: Deal): boolean {
  if (!Array.isArray(tasks) || tasks.length !== deal.tasks.length) return false
  return deal.tasks.map(shownTask).every((task, index) => {
    const wasOpen = deal.status !== 'open' && task.status === 'dropped'
    return (
      isDeepStrictEqual(tasks[index], task) || (wasOpen && isDeepStrictEqual(tasks[index], { ...task, status: 'open' }))
    )
  })
}
