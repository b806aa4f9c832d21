/** The states of a deal as a picture: where it is, and where it can go. The same is said in words. */

import { type DealState, type DealView, stateOf } from '../deal-forms/deal-view.ts'
import { Time } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'
import { dealTexts as texts } from '../texts/deal.ts'

/** The left upper corner of each state; all are 110 wide and 34 high. */
const places: Readonly<Record<DealState, readonly [x: number, y: number]>> = {
  open: [2, 2],
  completed: [208, 2],
  held: [2, 84],
  cancelled: [208, 84],
}
const [width, height] = [110, 34]

/** The ways on from each state, and their lines. */
const ways: Readonly<Record<DealState, readonly DealState[]>> = {
  open: ['held', 'completed', 'cancelled'],
  held: ['open', 'cancelled'],
  completed: [],
  cancelled: [],
}

const lines: readonly { readonly from: DealState; readonly to: DealState; readonly path: string }[] = [
  { from: 'open', to: 'completed', path: 'M112 19H204m-6-4l6 4l-6 4' },
  { from: 'open', to: 'cancelled', path: 'M112 30L204 92m-7.3-1.7l7.3 1.7l-2.9-6.9' },
  { from: 'open', to: 'held', path: 'M47 36V80m-4-6l4 6l4-6' },
  { from: 'held', to: 'open', path: 'M67 84V40m-4 6l4-6l4 6' },
  { from: 'held', to: 'cancelled', path: 'M112 101H204m-6-4l6 4l-6 4' },
]

interface DiagramProps {
  readonly deal: DealView
  readonly reader: Reader
}

/** The panel with the picture. */
export function StateDiagram({ deal, reader }: DiagramProps) {
  const current = stateOf(deal)
  return (
    <section class="panel" aria-labelledby="state">
      <h2 id="state">State</h2>
      <svg class="states" viewBox="0 0 320 120" role="img" aria-labelledby="state-text">
        <title id="state-text">{inWords(current)}</title>
        {lines.map(({ from, path }) => (
          <path class={from === current ? 'way possible' : 'way'} d={path} />
        ))}
        {(Object.keys(places) as DealState[]).map((drawn) => (
          <State state={drawn} isCurrent={drawn === current} />
        ))}
      </svg>
      {current === 'held' && (
        <p class="hint">
          On hold by {deal.heldBy ?? ''} since <Time time={deal.heldAt} reader={reader} />
        </p>
      )}
    </section>
  )
}

function State({ state, isCurrent }: { readonly state: DealState; readonly isCurrent: boolean }) {
  const [x, y] = places[state]
  return (
    <g class={isCurrent ? `state current ${state}` : 'state'}>
      <rect x={x} y={y} width={width} height={height} rx="8" />
      <text x={x + width / 2} y={y + 22} text-anchor="middle">
        {`${isCurrent ? '● ' : ''}${texts.states[state]}`}
      </text>
    </g>
  )
}

function inWords(state: DealState): string {
  const next = ways[state].map((way) => texts.states[way])
  const last = next.length > 1 ? `${next.slice(0, -1).join(', ')} or ${next.at(-1)}` : ''
  const onward = next.length === 0 ? 'It can be reopened.' : `From here it can become ${last}.`
  return `The deal is ${texts.states[state]}. ${onward}`
}
