/**
 * The fields of a deal, in the order of its representation. From this table follow the type of a deal, its rows, its
 * JSON and the description of that, the columns of files, filters, and the facts and columns of the console. The column
 * of each is in `store/schema.ts`; a use case gives a field its values.
 */
import type { MinorUnits } from './money.ts'

/** How a deal was completed. */
export interface Completion {
  /** `YYYY-MM-DD`. */
  readonly completedOn: string
  readonly finalPrice: MinorUnits
  readonly documentNumber: string | null
  readonly comment: string | null
}

/** Kind → the values of its fields. */
interface Values {
  /** UUID in lower case. */
  readonly id: string
  readonly text: string
  /** A user name. */
  readonly user: string
  /** The immutable id of a user. */
  readonly userId: string
  /** `YYYY-MM-DD`. */
  readonly date: string
  /** RFC 3339. */
  readonly time: string
  readonly amount: MinorUnits
  /** ISO 4217. */
  readonly currency: string
  readonly status: 'open' | 'completed' | 'cancelled'
  readonly flag: boolean
  readonly count: number
  readonly completion: Completion
}

/** The kind of a field. */
export type FieldKind = keyof Values

/** What is to be known of a field. */
interface DealField {
  readonly kind: FieldKind
  readonly nullable?: true
  /** No client sees it. */
  readonly isHidden?: true
  /** It is in files as CSV, and a row of such a file can give it to a new deal: a parameter of CreateDeal. */
  readonly isImported?: true
  /** It is in no file as CSV. */
  readonly isNotInFiles?: true
  /** A unique index of `store/schema.ts` holds it, such as one over open deals: another value is 422 `value-taken`. */
  readonly isUnique?: true
  /** Lists of deals can be filtered by equality with it, by a parameter of its name. */
  readonly isFilter?: true
  /** Its name in the console, among the facts of a deal. */
  readonly label?: string
  /** It has a column in the list of deals of the console. */
  readonly isColumn?: true
}

/** Field → what is to be known of it. */
export const dealFields = {
  id: { kind: 'id', isImported: true },
  name: { kind: 'text', isImported: true },
  price: { kind: 'amount', isImported: true },
  /** Immutable. */
  currency: { kind: 'currency', isImported: true, isFilter: true },
  description: { kind: 'text', nullable: true, isImported: true, label: 'Description' },
  completionDate: { kind: 'date', nullable: true, isImported: true, label: 'Completion date' },
  ownerId: { kind: 'user', isImported: true, label: 'Owner', isColumn: true },
  /** Null in old deals, which were written without ids. */
  ownerUserId: { kind: 'userId', nullable: true, isHidden: true },
  status: { kind: 'status', isFilter: true },
  held: { kind: 'flag', isFilter: true },
  holdReason: { kind: 'text', nullable: true, label: 'Reason of the hold' },
  holdReasonCode: { kind: 'text', nullable: true, label: 'Code of the reason' },
  heldAt: { kind: 'time', nullable: true },
  heldBy: { kind: 'user', nullable: true },
  /** The reason of the last change of the price. */
  priceReason: { kind: 'text', nullable: true, label: 'Reason of the last change of the price' },
  /** The reason of the last change of the completion date, and its penalty. */
  completionDateReason: { kind: 'text', nullable: true, label: 'Reason of the last change of the date' },
  completionDatePenalty: { kind: 'amount', nullable: true, label: 'Penalty of that change' },
  cancelReason: { kind: 'text', nullable: true, label: 'Reason of the cancellation' },
  cancelPenalty: { kind: 'amount', nullable: true, label: 'Penalty of the cancellation' },
  cancelledAt: { kind: 'time', nullable: true, label: 'Cancelled' },
  completion: { kind: 'completion', nullable: true, isNotInFiles: true },
  /** The sum of all penalties ever charged. */
  penaltyTotal: { kind: 'amount', label: 'Penalties in all' },
  /** Grows by one per accepted command, from 1. */
  version: { kind: 'count' },
  /** The number of events of the deal; they count without gaps. */
  sequence: { kind: 'count', isHidden: true },
  createdAt: { kind: 'time' },
  createdBy: { kind: 'user' },
  updatedAt: { kind: 'time' },
  updatedBy: { kind: 'user' },
  deletedAt: { kind: 'time', nullable: true, isNotInFiles: true },
  /** The time when a deleted deal is removed for good. */
  purgeAt: { kind: 'time', nullable: true, isNotInFiles: true },
} as const satisfies Readonly<Record<string, DealField>>

type Fields = typeof dealFields

/** The name of a field. */
export type FieldName = keyof Fields

type NamesWith<Mark> = { [Name in FieldName]: Fields[Name] extends Mark ? Name : never }[FieldName]

/** The name of a field that clients see. */
export type ShownField = Exclude<FieldName, NamesWith<{ readonly isHidden: true }>>

/** The name of a field by which lists can be filtered. */
export type FilterField = NamesWith<{ readonly isFilter: true }>

type ValueOf<Field extends DealField> =
  | Values[Field['kind']]
  | (Field extends { readonly nullable: true } ? null : never)

/** The values of all fields. */
export type FieldValues = { readonly [Name in FieldName]: ValueOf<Fields[Name]> }

const names = Object.keys(dealFields) as FieldName[]
const fieldOf = (name: FieldName): DealField => dealFields[name]

/** The names of all fields, with their kinds. */
export const fieldKinds: readonly (readonly [name: FieldName, kind: FieldKind])[] = names.map((name) => [
  name,
  fieldOf(name).kind,
])

type NullableField = NamesWith<{ readonly nullable: true }>

/** All fields that can be null, each null. */
export const emptyFields = Object.fromEntries(
  names.filter((name) => fieldOf(name).nullable).map((name) => [name, null]),
) as { readonly [Name in NullableField]: null }

/** The names of the fields that clients see. */
export const shownFields = names.filter((name): name is ShownField => !fieldOf(name).isHidden)

/** The names of the fields by which lists can be filtered. */
export const filterFields = names.filter((name): name is FilterField => fieldOf(name).isFilter === true)

/** The names of the fields that a unique index holds. */
export const uniqueFields = names.filter((name) => fieldOf(name).isUnique)

/** The fields that clients see, for files: those of a new deal, and all others. */
export const fileFields = {
  imported: shownFields.filter((name) => fieldOf(name).isImported),
  exported: shownFields.filter((name) => !fieldOf(name).isImported && !fieldOf(name).isNotInFiles),
  absent: shownFields.filter((name) => fieldOf(name).isNotInFiles),
} as const

/** A field that the console shows as a fact. */
export interface LabelledField {
  readonly name: ShownField
  readonly kind: FieldKind
  readonly label: string
}

/** The fields that the console shows as facts. */
export const labelledFields: readonly LabelledField[] = shownFields.flatMap((name) => {
  const { kind, label } = fieldOf(name)
  return label === undefined ? [] : [{ name, kind, label }]
})

/** The name of a field with a column in the list of deals of the console. */
export type ColumnField = NamesWith<{ readonly isColumn: true }>

/** These fields. */
export const columnFields = labelledFields.filter(
  (field): field is LabelledField & { readonly name: ColumnField } => fieldOf(field.name).isColumn === true,
)
