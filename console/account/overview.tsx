/** The first page of the account: who the reader is, and what they may do. */

import { firstPages } from '../../shared/server/pages/page-paths.ts'
import type { AuthPage } from '../frame/auth-api.ts'
import { Facts, Time } from '../frame/content.tsx'
import { RightsInWords } from '../parts/rights.tsx'
import { AccountFrame } from './tabs.tsx'

/** `/account`. */
export const overviewPage = (): AuthPage => ({
  methods: ['GET'],
  path: '/account',
  render: async ({ request, api, reader, publicOrigins }) => {
    const me = await api.get('GET /me')
    return {
      title: 'Account',
      content: (
        <AccountFrame request={request}>
          <section class="panel">
            <h2>{me.username}</h2>
            <Facts
              facts={[
                ['Name', me.displayName],
                ['E-mail address', me.email],
                ['Roles', me.roles.length > 0 ? me.roles.join(', ') : 'No role'],
                ['This session ends at the latest', <Time time={me.expiresAt} reader={reader} />],
              ]}
            />
          </section>
          <section class="panel">
            <h2>What you may do</h2>
            {me.rights.length > 0 ? (
              <RightsInWords rights={me.rights} />
            ) : (
              <p>You have no rights. An administrator can give you a role.</p>
            )}
          </section>
          {me.rights.includes('deal.read') && (
            <p>
              <a href={publicOrigins.deal + firstPages.deal}>Go to the deals</a>
            </p>
          )}
        </AccountFrame>
      ),
    }
  },
})
