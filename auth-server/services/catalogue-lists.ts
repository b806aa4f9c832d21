import type { Database } from '../../shared/platform/database/database.ts'
import { accessRights, roles } from '../store/access-tables.ts'
import type { CatalogueLists } from './narrow.ts'

/** The rights and roles as the database has them now. @throws Unavailable */
export async function readCatalogueLists({ drizzle }: Pick<Database, 'drizzle'>): Promise<CatalogueLists> {
  return {
    rights: await drizzle
      .select({ name: accessRights.name, resourceServer: accessRights.resourceServer })
      .from(accessRights),
    roles: await drizzle.select({ name: roles.name, rights: roles.rights }).from(roles),
  }
}
