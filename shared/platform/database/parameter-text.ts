import type { Parameter } from './database.ts'

/**
 * A parameter in the text form of PostgreSQL, the same for every engine.
 *
 * @throws TypeError for a value of another type: the drivers would report it for another statement of the same connection
 */
export function parameterText(parameter: Parameter, index: number): string | null {
  if (parameter === null || typeof parameter === 'string') return parameter
  if (typeof parameter === 'number' || typeof parameter === 'boolean') return String(parameter)
  throw new TypeError(`parameter ${index + 1} of the statement is of type ${typeof parameter}`)
}
