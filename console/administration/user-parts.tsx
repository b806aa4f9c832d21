/** What the pages about users have in common. */
import type { AuthReply, AuthVisit } from '../frame/auth-api.ts'

/** A user. `rights` are the direct ones. */
export type User = AuthReply<'GET /users/:username'>

/** A role. */
export type Role = AuthReply<'GET /roles/:name'>

/** All roles. @throws PageProblem for a refusal */
export const rolesOf = async ({ api }: AuthVisit): Promise<readonly Role[]> => (await api.get('GET /roles')).items

/** The right that the pages of users need. */
export const usersRight = 'user.manage'

/** The path of the list. */
export const usersPath = '/account/users'

/** The path of the page of a user. */
export const userPath = (username: string): string => `${usersPath}/${encodeURIComponent(username)}`

/** Whether a user is enabled, in words and colour. */
export const EnabledBadge = ({ isEnabled }: { readonly isEnabled: boolean }) => (
  <span class={isEnabled ? 'badge good' : 'badge bad'}>{isEnabled ? 'enabled' : 'disabled'}</span>
)
