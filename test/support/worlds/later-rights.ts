/** The role `manager` has, in tests, also the rights of use cases that came later than the roles of the contract. */
import { setTimeout as pause } from 'node:timers/promises'
import { builtInRights } from '../../../auth-server/principals/rights.ts'
import { rightsOfCommands } from '../../../deal-server/use-cases/index.ts'
import type { Stack } from './stack.ts'

const laterRights = rightsOfCommands
  .map(({ name }) => name)
  .filter((name) => !name.endsWith(':own') && !(builtInRights as readonly string[]).includes(name))

/** Waits until the deal server has declared them. A world that is in trouble from its begin goes without them. */
export async function grantLaterRights({ auth, logIn }: Pick<Stack, 'auth' | 'logIn'>): Promise<void> {
  if (laterRights.length === 0) return
  const { access: token } = await logIn('admin')
  const { status, body: role } = await auth.send('/roles/manager', { token })
  if (status !== 200) return
  const json = { description: role.description, rights: [...(role.rights as string[]), ...laterRights] }
  for (let attempt = 0; attempt < 20; attempt += 1) {
    if ((await auth.send('/roles/manager', { method: 'PUT', token, json })).status === 200) return
    await pause(100)
  }
}
