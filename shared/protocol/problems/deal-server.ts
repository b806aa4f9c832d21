/**
 * The problem codes of the deal server: about the form of a request, about command ids and versions, about the rules
 * for a deal.
 */
import type { ProblemEntry } from '../../platform/problems/problem-document.ts'

const callProblems = {
  'ambiguous-update': {
    status: 400,
    title: 'The update is an action and a deal at once',
    meaning:
      'A PUT of a deal is either an action with its params or the deal as it should be, and this body has members ' +
      'of both.',
    remedy: 'Send either action and params alone, or the attributes alone.',
  },
  'application-token-required': {
    status: 401,
    title: 'Only access tokens of applications are accepted here',
    meaning:
      'Assistants act with a token that a user has let an application have, and can take back. Passwords, sessions, ' +
      'signed requests, API keys and tokens of a sign-in by password are not accepted.',
    remedy: 'Register the application, sign in with it, and send the token that it gets.',
  },
  'deal-mismatch': {
    status: 400,
    title: 'Two parts of the request name different deals',
    meaning: 'The deal in the body is not the one in the path, or id and deal in the body differ.',
    remedy: 'Name the deal once, or the same one everywhere.',
  },
  'unknown-command': {
    status: 404,
    title: 'There is no command of this name',
    meaning: 'The path behind /command/ is not the name of a command.',
    remedy: 'Use one of the names that detail lists, with capitals as there.',
  },
  'unknown-query': {
    status: 404,
    title: 'There is no query for this kind of record',
    meaning: 'The path behind /query/ does not begin with a kind of record that can be asked for.',
    remedy: 'Use one of the kinds that detail lists, with capitals as there.',
  },
  'outdated-cursor': {
    status: 400,
    title: 'Another PostgreSQL server has taken over since the cursor was made',
    meaning:
      'A cursor of a list and the id of an event belong to one history of the database. After a failover the same ' +
      'numbers may stand for other deals and events.',
    remedy: 'Begin the list again without a cursor. Read the deals again, and open the stream without Last-Event-ID.',
  },
  'query-too-slow': {
    status: 503,
    title: 'Too many deals match for a sum',
    meaning: 'A sum reads every deal that matches, and PostgreSQL did not finish within the time that it gets.',
    remedy: 'Filter the deals, for example by status and createdFrom, or try again after the seconds of Retry-After.',
  },
  'too-many-webhooks': {
    status: 409,
    title: 'There are as many webhooks as there may be',
    meaning: 'The deal servers of an installation keep a bounded number of webhooks, all users together.',
    remedy: 'Delete a webhook that is not needed. One webhook can get the events of all deals.',
  },
  'unknown-version': {
    status: 404,
    title: 'This version of the interface does not exist',
    meaning: 'The path names a version of the interface that is not served, or not any more.',
    remedy: 'Use one of those that the member versions names.',
  },
} as const satisfies Record<string, ProblemEntry>

const commandProblems = {
  'command-in-progress': {
    status: 409,
    title: 'Too many commands wait for this deal',
    meaning:
      'Commands on one deal run one after another, and those before this one were still running after five seconds.',
    remedy: 'Send it again with the same command id after the seconds that Retry-After says.',
  },
  'command-expired': {
    status: 410,
    title: 'The answer to this command is no longer kept',
    meaning: 'A command with this id was answered long ago. It is not carried out again, and its answer is gone.',
    remedy: 'Read the deal to see its state; a new attempt needs a new id.',
  },
  'batch-too-large': {
    status: 422,
    title: 'The batch has too many commands',
    meaning: 'A batch has at most 1,000 commands. None of this one was carried out.',
    remedy: 'Send several batches. They may run side by side; commands on one deal belong into one batch.',
  },
  'repeated-command-id': {
    status: 422,
    title: 'Two commands of the batch have the same id',
    meaning: 'An earlier command of this batch has this id. That one is carried out; this one is not.',
    remedy: 'Give each command an id of its own.',
  },
  'too-many-batches': {
    status: 429,
    title: 'Too many batches are under way',
    meaning:
      'The batches that one user may have under way at once are limited, and those of a server in all; detail says which limit it is.',
    remedy: 'Wait for a batch to end, or try again after the seconds that Retry-After says.',
  },
  'command-id-reused': {
    status: 422,
    title: 'This command id stands for another command',
    meaning: 'You have sent a command with this id before, with another use case, another deal or other parameters.',
    remedy: 'Choose a new id for each new command, and repeat an id only with exactly the same content.',
  },
  'precondition-required': {
    status: 428,
    title: 'The request must say which version it was made for',
    meaning:
      'The operator demands that a PUT of a whole deal names the version it was made from, so that no change is lost.',
    remedy: 'Send If-Match with the entity tag that you have read, or the member version.',
  },
} as const satisfies Record<string, ProblemEntry>

const proposalProblems = {
  'proposal-closed': {
    status: 409,
    title: 'The proposal is no longer open',
    meaning: 'It was approved or rejected, or nobody decided within 14 days. The member state says which.',
    remedy: 'Read the proposal. Send the command again, under a new id, if it shall be proposed once more.',
  },
  'proposal-rejected': {
    status: 409,
    title: 'The proposal of this command was rejected',
    meaning: 'Somebody who decides on proposals rejected it, or its proposer took it back. The command never runs.',
    remedy: 'The member reason says why. Send another command, under a new id.',
  },
  'proposer-cannot-decide': {
    status: 403,
    title: 'Somebody else decides on this proposal',
    meaning: 'Users do not approve what was proposed in their name. An application that only proposes decides nothing.',
    remedy: 'Let another user with the right proposal.decide approve it.',
  },
  'too-many-proposals': {
    status: 409,
    title: 'Too many proposals of this user wait',
    meaning: 'A user has a bounded number of open proposals, of all applications together.',
    remedy: 'Have some of them approved or rejected, or wait until they expire.',
  },
} as const satisfies Record<string, ProblemEntry>

const stateProblems = {
  'task-not-found': {
    status: 404,
    title: 'The deal has no such task',
    meaning: 'None of the tasks of this deal has the id that taskId names.',
    remedy: 'Read the deal: its tasks are listed there with their ids.',
  },
  'deal-closed': {
    status: 409,
    title: 'The deal is completed or cancelled',
    meaning: 'Only an open deal can be changed.',
    remedy: 'Reopen the deal first, if that is what is meant.',
  },
  'deal-completed': {
    status: 409,
    title: 'The deal is completed',
    meaning: 'A completed deal cannot be deleted.',
    remedy: 'Reopen it first, if it was completed by mistake.',
  },
  'deal-exists': {
    status: 409,
    title: 'A deal with this id exists already',
    meaning: 'The id you chose belongs to a deal, or to one that was deleted: ids are never used again.',
    remedy: 'Choose a new UUID, or leave the id to the server.',
  },
  'deal-held': {
    status: 409,
    title: 'The deal is held',
    meaning: 'While a deal is held, its price and completion date stay as they are and it is not completed.',
    remedy: 'Unhold the deal first.',
  },
  'open-tasks': {
    status: 409,
    title: 'The deal has open tasks',
    meaning: 'A deal is not completed over open tasks unless the request says what happens to them.',
    remedy: 'Complete the tasks, or send openTasks: "drop".',
  },
  'task-done': {
    status: 409,
    title: 'The task is done',
    meaning: 'A task that is done is neither assigned nor completed again with another result.',
    remedy: 'Add another task if there is more to do.',
  },
  'task-dropped': {
    status: 409,
    title: 'The task was dropped',
    meaning: 'The task was dropped when the deal was closed, and stays so even after the deal is reopened.',
    remedy: 'Add the task again under a new id.',
  },
  'task-exists': {
    status: 409,
    title: 'Another task with this id exists already',
    meaning: 'The deal has a task of this id whose content is not the one that was sent.',
    remedy: 'Choose a new taskId for a new task.',
  },
  'task-limit': {
    status: 409,
    title: 'The deal has as many tasks as it may have',
    meaning: 'A deal has at most 200 open tasks, and 1,000 in all.',
    remedy: 'Complete open tasks, or go on in another deal.',
  },
} as const satisfies Record<string, ProblemEntry>

const valueProblems = {
  'date-out-of-range': {
    status: 422,
    title: 'The date cannot be right',
    meaning: 'A deal cannot have been completed in the future: completedOn lies after today in every time zone.',
    remedy: 'Send today or an earlier date, or leave completedOn out.',
  },
  'employee-unknown': {
    status: 422,
    title: 'The named employee is not an enabled user',
    meaning: 'Owners and assignees are users of the auth server, and there is no enabled one of this name.',
    remedy: 'Check the user name. Once the user exists and is enabled, the same command can be sent again.',
  },
  'incomplete-representation': {
    status: 422,
    title: 'The representation of the deal is incomplete',
    meaning:
      'A PUT needs name, price and held, and holdReason when it holds the deal; errors names the missing members. ' +
      'Other absent members are unchanged.',
    remedy: 'Add the members that errors names; or send the changes alone with PATCH.',
  },
  'inconsistent-attributes': {
    status: 422,
    title: 'Two attributes contradict each other',
    meaning: 'The deal as sent could never exist, such as one with a new reason for a hold that is not held.',
    remedy: 'Correct one of the attributes that detail names.',
  },
  'penalty-limit': {
    status: 422,
    title: 'The total of all penalties would be too large',
    meaning: 'Penalties of a deal add up, and with this one the sum would be larger than any amount can be.',
    remedy: 'Send a smaller penalty.',
  },
  'penalty-required': {
    status: 422,
    title: 'The change needs a penalty amount, 0 for none',
    meaning: 'The update moves the completion date or cancels the deal without saying what penalty is due.',
    remedy: 'Send completionDatePenalty or cancelPenalty; 0 is allowed.',
  },
  'read-only-attribute': {
    status: 422,
    title: 'The attribute cannot be changed',
    meaning: 'The id and the currency of a deal stay what they are, and the body has another value.',
    remedy: 'Send them as they were read. A deal in another currency is a new deal.',
  },
  'reason-required': {
    status: 422,
    title: 'The change needs a reason of its own',
    meaning:
      'The update makes a change that must be explained, and the reason is missing or still that of the change before.',
    remedy: 'Send a new reason beside the change, such as priceReason beside price.',
  },
  'use-case-required': {
    status: 422,
    title: 'A use case of its own does this',
    meaning: 'An update of attributes does not cover this difference, such as one in the tasks.',
    remedy: 'Call the use case that detail names.',
  },
} as const satisfies Record<string, ProblemEntry>

/** The codes that only the deal server uses. */
export const dealProblems = {
  ...callProblems,
  ...commandProblems,
  ...proposalProblems,
  ...stateProblems,
  ...valueProblems,
}
