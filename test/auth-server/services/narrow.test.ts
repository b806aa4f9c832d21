import { describe, expect, it } from 'vitest'
import { narrowCatalogue, narrowRecord, narrowRights } from '../../../auth-server/services/narrow.ts'
import type { Catalogue } from '../../../shared/protocol/principal/catalogue.ts'
import type { StoredPrincipal } from '../../../shared/protocol/principal/record.ts'

const right = (name: string, resourceServer: string) => ({ name, resourceServer, readsOnly: false, since: 3 })
const catalogue: Catalogue = {
  schema: 1,
  version: 9,
  rights: [right('deal.read', 'deals'), right('invoice.read', 'invoices'), right('invoice.approve', 'invoices')],
  roles: [
    { name: 'admin', rights: ['deal.read', 'invoice.read', 'invoice.approve'], since: 0 },
    { name: 'viewer', rights: ['deal.read'], since: 0 },
    { name: 'clerk', rights: ['deal.read', 'invoice.read'], since: 5 },
    { name: 'nothing', rights: [], since: 0 },
  ],
}
const record: StoredPrincipal = {
  schema: 2,
  username: 'erin',
  userId: 'id',
  enabled: true,
  roles: ['viewer', 'clerk', 'nothing', 'gone'],
  directRights: ['invoice.approve', 'deal.read', 'gone.right'],
  generation: 2,
  keptLogin: null,
  revokedIds: ['a'],
  version: 7,
}

describe('what a service sees', () => {
  it('of the catalogue are the rights of its resource server, and roles with some of them', () => {
    expect(narrowCatalogue(catalogue, 'invoices')).toEqual({
      schema: 1,
      version: 9,
      rights: [right('invoice.read', 'invoices'), right('invoice.approve', 'invoices')],
      roles: [
        { name: 'admin', rights: ['invoice.read', 'invoice.approve'], since: 0 },
        { name: 'clerk', rights: ['invoice.read'], since: 5 },
      ],
    })
  })

  it('of a record are these rights, and everything else: a role may be given such rights later', () => {
    const narrowed = narrowRecord(record, narrowCatalogue(catalogue, 'invoices'))
    expect(narrowed).toEqual({ ...record, directRights: ['invoice.approve'] })
  })

  it('of the rights of a key are these', () => {
    const seen = narrowCatalogue(catalogue, 'invoices')
    expect(narrowRights(new Set(['deal.read', 'invoice.read']), seen)).toEqual(['invoice.read'])
  })

  it('is nothing for a resource server without rights, and for none', () => {
    for (const resourceServer of ['empty', '']) {
      const seen = narrowCatalogue(catalogue, resourceServer)
      expect(seen).toMatchObject({ rights: [], roles: [] })
      expect(narrowRecord(record, seen)).toMatchObject({ directRights: [] })
      expect(narrowRights(['deal.read'], seen)).toEqual([])
    }
  })
})
