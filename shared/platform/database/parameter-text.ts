import type { Parameter } from './database.ts'

/**
 * A parameter in PostgreSQL's text form, alike for every engine.
 *
 * @throws TypeError for what is none: the drivers would blame it on another statement of the same connection
 */
export const parameterText = (parameter: Parameter, index: number): string | null => {
  if (parameter === null || typeof parameter === 'string') return parameter
  if (typeof parameter === 'number' || typeof parameter === 'boolean') return String(parameter)
  throw new TypeError(`parameter ${index + 1} of the statement is of type ${typeof parameter}`)
}
