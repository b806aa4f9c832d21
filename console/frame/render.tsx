/**
 * Renders JSX to text. No component of the console is asynchronous.
 *
 * When `hono/jsx` renders for the first time, it looks for AsyncLocalStorage, to keep contexts across an `await`. On
 * Node.js before 24, that would slow down every promise of the process from the first page on. So the first time comes
 * here, where there is none: contexts are then kept in a variable while a page is rendered.
 */
import type { Child } from 'hono/jsx'

const { getBuiltinModule } = process
try {
  process.getBuiltinModule = (() => undefined) as typeof getBuiltinModule
  render(<head />)
} finally {
  process.getBuiltinModule = getBuiltinModule
}

/** The text of an element. */
export function render(element: Child): string {
  return String(element)
}
