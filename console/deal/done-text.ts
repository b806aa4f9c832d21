import { commands } from '../../deal-server/use-cases/index.ts'
import { dealTexts as texts } from '../texts/deal.ts'

/** What was done, for the code in the address of a page; nothing for other codes. */
export function doneText(code: string | null): string | undefined {
  if (code === 'unchanged') return texts.unchanged
  return commands.find(({ verb }) => verb === code)?.words.done
}
