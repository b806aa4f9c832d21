import { widthOf } from '../../deal-server/domain/own-deals.ts'

/** True for a reader who has the right for all deals, or for own deals. */
export const may = ({ rights }: { readonly rights: ReadonlySet<string> }, right: string): boolean =>
  widthOf(rights, right) !== undefined
