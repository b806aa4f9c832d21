import { Refused } from '../../shared/errors.ts'

/** Why a deal does not allow a use case. What HTTP makes of each code is decided in `http/problems.ts`. */
export type DealRefusalCode =
  | 'deal-exists'
  | 'deal-closed'
  | 'deal-completed'
  | 'deal-held'
  | 'employee-unknown'
  | 'invalid-value'

export type DealRefusal = Refused<DealRefusalCode>

/** A refusal of the domain. `detail` is for the developer of the calling client. */
export const refuse = (code: DealRefusalCode, detail: string): DealRefusal => new Refused(code, detail)

/** A value that turns out to be unacceptable only beside the deal, such as a price with too many decimals for its currency. */
export const refuseValue = (member: string, code: string, message: string): DealRefusal =>
  new Refused('invalid-value', `/${member}: ${message}`, {
    members: { errors: [{ pointer: `/${member}`, code, message }] },
  })
