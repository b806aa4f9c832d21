/**
 * `/console/signed-out`: browsers forget what they have stored of the deal server's origin too, such as saved views,
 * and go on to the page for signing in. A page of another site can lead here, but clears nothing.
 */
import { clearSiteData, noStore } from '../../shared/platform/http/response.ts'
import { signedOutPath, signInPath } from '../../shared/server/pages/page-paths.ts'
import type { RouteTable } from '../frame/api.ts'
import type { OpenPage } from '../frame/console.tsx'

/** The page. */
export const signedOutPage = (): OpenPage<RouteTable> => ({
  isOpen: true,
  methods: ['GET'],
  path: signedOutPath,
  render: ({ request, publicOrigins }) => {
    const location = `${publicOrigins.auth}${signInPath}?signed-out=yes`
    const cleared = request.header('sec-fetch-site') === 'cross-site' ? {} : clearSiteData
    return { response: { status: 303, headers: { ...noStore, ...cleared, location }, body: null } }
  },
})
