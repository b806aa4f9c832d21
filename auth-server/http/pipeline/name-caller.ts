import type { HttpRequest } from '../../../shared/platform/http/request.ts'

/** Names the user, who has just proved the password, in the log line of the request. */
export const nameCaller =
  (request: HttpRequest) =>
  (userId: string): void => {
    request.caller = { userId, scheme: 'password' }
  }
