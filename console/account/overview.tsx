/** The first page of the account: who the reader is, and what he may do. */

import { firstPages } from '../../shared/server/pages/first-pages.ts'
import type { AuthPage } from '../frame/auth-api.ts'
import { Time } from '../frame/content.tsx'
import { RightsInWords } from '../parts/rights.tsx'
import { strings } from '../texts/account.ts'
import { AccountFrame } from './tabs.tsx'

const { overview: texts } = strings

/** `/account`. */
export const overviewPage = (): AuthPage => ({
  methods: ['GET'],
  path: '/account',
  render: async ({ request, api, reader, publicOrigins }) => {
    const me = await api.get('GET /me')
    return {
      title: strings.account,
      content: (
        <AccountFrame request={request}>
          <section class="panel">
            <h2>{me.username}</h2>
            <dl class="facts">
              <dt>{texts.roles}</dt>
              <dd>{me.roles.length > 0 ? me.roles.join(', ') : texts.noRoles}</dd>
              <dt>{texts.expiresAt}</dt>
              <dd>
                <Time time={me.expiresAt} reader={reader} />
              </dd>
            </dl>
          </section>
          <section class="panel">
            <h2>{texts.rights}</h2>
            {me.rights.length > 0 ? <RightsInWords rights={me.rights} /> : <p>{texts.noRights}</p>}
          </section>
          {me.rights.includes('deal.read') && (
            <p>
              <a href={publicOrigins.deal + firstPages.deal}>{texts.toDeals}</a>
            </p>
          )}
        </AccountFrame>
      ),
    }
  },
})
