/** Words of the pages of proposals, by their state. */
export const proposalTexts = {
  tabs: { open: 'Open', approved: 'Approved', rejected: 'Rejected', expired: 'Expired' },
  looks: { open: 'open', approved: 'completed', rejected: 'bad', expired: 'warn' },
  done: new Map([
    ['approved', 'The proposal is approved: the command has run.'],
    ['rejected', 'The proposal is rejected: the command never runs.'],
  ]),
  hasChanged: 'The deal has changed since this was proposed. The page shows what would happen to it as it is now.',
} as const
