/**
 * What the script `follow.js` needs to notice that somebody changes the deal. Without a script the page shows the deal
 * as it was when the page was read.
 */

import { givenAway } from '../../deal-server/domain/own-deals.ts'
import { dealEventTypes } from '../../deal-server/use-cases/apply-events.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { AssetName } from '../frame/assets.ts'
import { may } from '../frame/may.ts'
import { pathOfDeal } from '../parts/deal-parts.tsx'
import type { DealView } from './deal-view.ts'

/** Live events need this right. */
const followingRight = 'deal.history.read'

/** The scripts of a page that follows a deal. */
export const follower = ({ rights }: Pick<Caller, 'rights'>): readonly AssetName[] =>
  may({ rights }, followingRight) ? ['follow.js'] : []

interface FollowingProps {
  readonly deal: DealView
  readonly caller: Pick<Caller, 'username' | 'rights'>
  /** True on a page with a form: it is never replaced. */
  readonly isForm?: boolean
}

/** The place of notices, with the addresses that the script reads. */
export function Following({ deal, caller, isForm = false }: FollowingProps) {
  if (!may(caller, followingRight)) return null
  const { id, version } = deal
  return (
    <p
      id="following"
      class="follow"
      role="status"
      data-stream={`/rest/v1/events?${new URLSearchParams({ deal: id })}`}
      data-types={[...dealEventTypes, givenAway].join(' ')}
      data-source={`/rest/v1/deals/${id}`}
      data-version={String(version)}
      data-page={pathOfDeal(id)}
      data-replace={isForm ? undefined : 'deal'}
      data-reader={caller.username}
      data-you="you"
      data-changed="This deal was changed by # while you look at it."
      data-changed-by-somebody="This deal was changed while you look at it."
      data-refreshed="Changed by #. The page shows the new state."
      data-show="Show the new state"
    />
  )
}
