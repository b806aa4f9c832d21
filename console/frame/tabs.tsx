/** Links between the pages of one subject. */

/** A page of the subject. */
export interface Tab {
  readonly path: string
  readonly text: string
}

interface TabsProps {
  /** For screen readers: the subject. */
  readonly label: string
  readonly tabs: readonly Tab[]
  /** The path of the page, or of a page below one of the tabs. */
  readonly path: string
}

/** The one of these with the longest path above this page. */
export const nearestAbove = <Place extends { readonly path: string }>(path: string, places: readonly Place[]) =>
  places
    .filter((place) => path === place.path || path.startsWith(`${place.path}/`))
    .sort((a, b) => b.path.length - a.path.length)[0]

/** The tabs of a page. */
export function Tabs({ label, tabs, path }: TabsProps) {
  const current = nearestAbove(path, tabs)
  return (
    <nav class="tabs" aria-label={label}>
      <ul>
        {tabs.map((tab) => (
          <li>
            <a href={tab.path} aria-current={tab === current ? 'page' : undefined}>
              {tab.text}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}
