/** Why use cases may be refused by the state of the deal, beside what any command may be refused for. */
import type { DealRefusalCode } from '../../domain/refusal.ts'
import type { Command } from '../../use-cases/define-use-case.ts'

/** The codes of all of `commands` together. */
export const refusalsOf = (commands: readonly Command[]): readonly DealRefusalCode[] =>
  commands.flatMap(({ refusals }) => refusals)

/** What an update of attributes may be refused for besides. */
export const updateRefusals: readonly DealRefusalCode[] = [
  ...(['inconsistent-attributes', 'penalty-required', 'read-only-attribute', 'reason-required'] as const),
  'use-case-required',
]
