/** The page in place of a problem document, when a browser follows a request of an application that is wrong. */
import { preferredType } from '../../shared/platform/http/content/accept.ts'
import type { HttpRequest } from '../../shared/platform/http/request.ts'
import type { AnswerByRoute, Route } from '../../shared/platform/http/server/routes.ts'
import { type ConsoleSettings, problemPage, shownResponse } from '../frame/console.tsx'

/** The routes of the API, of which those that browsers follow answer refusals by a page. */
export const withRefusedRequests = (
  routes: readonly Route[],
  settings: ConsoleSettings,
  answer: AnswerByRoute,
): Route[] =>
  routes.map((route) => {
    if (!/^\/oauth\/(authorize|device|logout)(\/decision)?$/.test(route.path)) return route
    const handle = async (request: HttpRequest) => {
      const wanted = preferredType(request.header('accept') ?? '*/*', ['application/json', 'text/html'])
      if (wanted !== 'text/html') return route.handle(request)
      const response = await answer(request, route)
      if (response.status < 400) return response
      const problem = JSON.parse(String(response.body))
      const shown = shownResponse(settings, { request, caller: undefined, shown: problemPage(problem) })
      return { ...shown, problemCode: problem.code }
    }
    return { ...route, handle }
  })
