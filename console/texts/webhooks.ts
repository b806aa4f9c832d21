/** All texts of the pages of webhooks. */
export const webhookTexts = {
  states: { active: 'active', paused: 'paused' },
  pausedReasons: {
    'by-user': 'a user paused it',
    failing: 'deliveries failed again and again',
    gone: 'the receiver answered 410: it wants no more events',
    'responsible-disabled': 'the responsible user is disabled',
    'responsible-lacks-right': 'the responsible user lacks a right',
    'responsible-logged-out': 'the responsible user was logged out of everything',
    'secret-unreadable': 'its secret cannot be read',
  } as Readonly<Record<string, string>>,
  outcomes: { delivered: 'delivered', failed: 'failed' },
  done: {
    changed: 'The webhook was changed.',
    paused: 'The webhook is paused.',
    resumed: 'The webhook goes on where it was.',
    redelivered: 'The events are sent once more.',
    deleted: 'The webhook was deleted.',
    'test-delivered': 'The test event was delivered.',
    'test-failed': 'The test event was not delivered: see the deliveries.',
  } as Readonly<Record<string, string>>,
} as const
