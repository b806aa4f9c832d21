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

/** The tabs of a page. The one with the longest path above the page is the current one. */
export function Tabs({ label, tabs, path }: TabsProps) {
  const current = tabs
    .filter((tab) => path === tab.path || path.startsWith(`${tab.path}/`))
    .sort((a, b) => b.path.length - a.path.length)[0]
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
