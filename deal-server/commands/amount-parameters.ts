import * as z from 'zod'
import { commands } from '../use-cases/index.ts'
import { amount } from '../use-cases/parameters.ts'
import { attributesSchema } from '../use-cases/update-deal/attributes.ts'

type Schema = z.core.$ZodType

/** Removes the wrappers that allow a value to be absent, null or read-only. */
const unwrapped = (schema: Schema): Schema =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodReadonly
    ? unwrapped(schema.unwrap())
    : schema

function amountsIn(schema: Schema): readonly string[] {
  const object = unwrapped(schema)
  if (!(object instanceof z.ZodObject)) return []
  return Object.entries(object.shape).flatMap(([name, member]) =>
    unwrapped(member) === amount ? [name] : amountsIn(member),
  )
}

/** The names of all parameters and attributes whose values are amounts. */
const amounts: ReadonlySet<string> = new Set(
  [attributesSchema, ...commands.map(({ params }) => params)].flatMap(amountsIn),
)

type Params = Readonly<Record<string, unknown>>

/** Maps the amounts (decimal text) of some parameters, also those inside the attribute `completion`. */
export const mapAmounts = (params: Params, write: (amount: string) => unknown): Params =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => {
      if (name === 'completion' && value != null) return [name, mapAmounts(value as Params, write)]
      return [name, amounts.has(name) && typeof value === 'string' ? write(value) : value]
    }),
  )
