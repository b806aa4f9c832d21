import type { HttpRequest } from '../../../shared/platform/http/request.ts'

/** Names whoever has just proved to know a password in the line that the log has of this request. */
export const nameCaller =
  (request: HttpRequest) =>
  (userId: string): void => {
    request.caller = { userId, scheme: 'password' }
  }
