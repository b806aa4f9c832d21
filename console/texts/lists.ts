/** Words of the lists of deals and of import. */
export const listTexts = {
  found: (count: string, isExact: boolean) => (isExact ? count : `about ${count}`),
  statuses: { open: 'open', completed: 'completed', cancelled: 'cancelled' },
  labels: {
    q: 'Name or description',
    status: 'Status',
    held: 'On hold',
    ownerId: 'Owner',
    currency: 'Currency',
    priceMin: 'Lowest price',
    priceMax: 'Highest price',
    completionFrom: 'Completion from',
    completionTo: 'Completion until',
    createdFrom: 'Created from',
    createdTo: 'Created until',
    updatedFrom: 'Changed from',
    updatedTo: 'Changed until',
    id: 'Ids',
    sort: 'Order',
    limit: 'Deals on a page',
  },
  sorts: {
    createdAt: ['Created, oldest first', 'Created, newest first'],
    updatedAt: ['Changed, oldest first', 'Changed, newest first'],
    name: ['Name, A to Z', 'Name, Z to A'],
    price: ['Price, lowest first', 'Price, highest first'],
    completionDate: ['Completion date, earliest first', 'Completion date, latest first'],
    status: ['Status, A to Z', 'Status, Z to A'],
    ownerId: ['Owner, A to Z', 'Owner, Z to A'],
  },
} as const

/** Texts of import. */
export const transferTexts = {
  formats: { auto: 'By the name of the file', csv: 'CSV', ndjson: 'NDJSON' },
  delimiters: { ',': 'Comma', ';': 'Semicolon', '\t': 'Tab', '|': 'Vertical bar' },
} as const
