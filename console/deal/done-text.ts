import { commands } from '../../deal-server/use-cases/index.ts'

/** What was done, for the code in the address of a page; nothing for other codes. */
export function commandDoneText(code: string | null): string | undefined {
  if (code === 'unchanged') return 'Nothing was changed: the deal is as you want it already.'
  return commands.find(({ verb }) => verb === code)?.words.done
}
