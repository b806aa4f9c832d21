/** Charts as SVG, drawn on the server: bars with a text for each number, so that colour says nothing alone. */
import type { Child } from 'hono/jsx'

interface Bar {
  readonly label: string
  readonly value: number
  /** The value as the reader reads it. */
  readonly text: string
  /** Its colour: that of a state, or `plain`. */
  readonly look: string
  /** The page that shows what the bar stands for. */
  readonly href?: string
}

interface ChartProps {
  /** Unique on the page. */
  readonly id: string
  readonly title: string
  /** The whole content in words. */
  readonly description: string
  readonly bars: readonly Bar[]
}

const largest = (bars: readonly Bar[]): number => Math.max(1, ...bars.map(({ value }) => value))

/** Bars that lie, one in each row. Widths are in per cent of the space for bars. */
export function LyingBars({ id, title, description, bars }: ChartProps) {
  const rowHeight = 34
  const [left, width] = [124, 180]
  const max = largest(bars)
  return (
    <Svg id={id} title={title} description={description} width={360} height={bars.length * rowHeight}>
      {bars.map(({ label, value, text, look }, index) => {
        const y = index * rowHeight
        const length = value === 0 ? 1 : Math.max(3, (value / max) * width)
        return (
          <g>
            <text class="label" x={left - 8} y={y + 21} text-anchor="end">
              {label}
            </text>
            <rect class={`bar ${look}`} x={left} y={y + 7} width={length.toFixed(1)} height={20} rx={3} />
            <text class="value" x={left + length + 8} y={y + 21}>
              {text}
            </text>
          </g>
        )
      })}
    </Svg>
  )
}

/** Upright bars, one for each span of time. */
export function StandingBars({ id, title, description, bars }: ChartProps) {
  const [height, step] = [110, 60]
  const max = largest(bars)
  return (
    <Svg id={id} title={title} description={description} width={bars.length * step} height={height + 44}>
      <line class="axis" x1={0} y1={height + 20} x2={bars.length * step} y2={height + 20} />
      {bars.map(({ label, value, text, look }, index) => {
        const x = index * step
        const length = value === 0 ? 0 : Math.max(2, (value / max) * height)
        return (
          <g>
            {value > 0 && (
              <text class="value small" x={x + step / 2} y={height + 14 - length} text-anchor="middle">
                {text}
              </text>
            )}
            <rect
              class={`bar ${look}`}
              x={x + 12}
              y={(height + 20 - length).toFixed(1)}
              width={step - 24}
              height={length.toFixed(1)}
            />
            <text class="label small" x={x + step / 2} y={height + 38} text-anchor="middle">
              {label}
            </text>
          </g>
        )
      })}
    </Svg>
  )
}

interface SvgProps extends Omit<ChartProps, 'bars'> {
  readonly width: number
  readonly height: number
  readonly children?: Child
}

function Svg({ id, title, description, width, height, children }: SvgProps) {
  return (
    <svg class="chart" role="img" viewBox={`0 0 ${width} ${height}`} aria-labelledby={`${id}-title ${id}-text`}>
      <title id={`${id}-title`}>{title}</title>
      <desc id={`${id}-text`}>{description}</desc>
      {children}
    </svg>
  )
}
