import { Unavailable } from '../../../shared/platform/problems/errors.ts'

/** An auth server answers, and cannot read its database: there is nothing newer than what it announces. */
export class CannotSay extends Unavailable {
  constructor(reason: string) {
    super('auth-server', { cause: new Error(reason) })
  }
}
