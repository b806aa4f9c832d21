/** `/console`: the state of the deals. With a script the page follows changes while the reader works on it. */

import { dealEventTypes } from '../../deal-server/use-cases/apply-events.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import type { DealPage } from '../frame/deal-api.ts'
import { may } from '../frame/may.ts'
import { dayOf } from '../parts/deal-parts.tsx'
import { createReadFigures } from './figures.ts'
import type { Period } from './sums.ts'
import { Held, LateFigures, Latest, States, Tasks } from './tiles.tsx'
import { ValueOverTime } from './value-over-time.tsx'

/** The first page. Readers who may not read deals are led to their tasks. */
export const dashboardPage = (clock: Clock, readFigures = createReadFigures(clock)): DealPage => ({
  methods: ['GET'],
  path: '/console',
  render: async ({ request, api, caller, reader }) => {
    if (!may(caller, 'deal.read')) return { redirect: '/console/tasks' }
    const period: Period = request.query.get('period') === 'week' ? 'week' : 'month'
    const now = clock.now()
    const { sums, lists, tasks, proposals } = await readFigures({ api, caller, period })
    const isFollowed = may(caller, 'deal.history.read')
    return {
      title: 'Dashboard',
      scripts: ['live.js'],
      content: (
        <>
          <div class="head">
            <h1>Dashboard</h1>
            {isFollowed && (
              <p class="hint live-hint" hidden>
                Follows changes while you work on this page.
              </p>
            )}
          </div>
          <div
            class="dashboard"
            id="live"
            {...(isFollowed && { 'data-events': `/rest/v1/events`, 'data-types': dealEventTypes.join(' ') })}
          >
            {sums?.groups.length === 0 && may(caller, 'deal.create') && (
              <p class="notice">
                There are no deals yet. <a href="/console/deals/new">Create the first deal</a>
              </p>
            )}
            {proposals !== undefined && (
              <p class="notice">
                <a href="/console/proposals">Proposals of applications</a> wait for a decision:{' '}
                <strong>{proposals}</strong>
              </p>
            )}
            {sums ? <States groups={sums.groups} reader={reader} /> : <LateFigures title="Deals by state" />}
            <div>
              {lists ? <Held held={lists.held} reader={reader} now={now} /> : <LateFigures title="On hold" />}
              <Tasks tasks={tasks} reader={reader} today={dayOf(now)} />
            </div>
            {sums && <ValueOverTime spans={sums.spans} period={period} reader={reader} />}
            {lists && <Latest latest={lists.latest} reader={reader} />}
          </div>
        </>
      ),
    }
  },
})
