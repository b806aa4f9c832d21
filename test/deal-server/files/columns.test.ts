import { expect, it } from 'vitest'
import { creationColumns, exportColumns } from '../../../deal-server/files/columns.ts'
import { createDeal } from '../../../deal-server/use-cases/create-deal.ts'

it('are, for an import, the parameters of CreateDeal', () => {
  expect(creationColumns.toSorted()).toEqual(Object.keys(createDeal.params.shape).sort())
})

it('are in the order that files of former releases have', () => {
  const first = ['id', 'name', 'price', 'currency', 'completionDate', 'ownerId', 'description', 'status', 'held']
  expect(exportColumns.filter((name) => first.includes(name))).toEqual(first)
})
