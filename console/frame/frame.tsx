/** The frame of all pages of the console: head, header with navigation, the place of the content, footer. */

import type { Child } from 'hono/jsx'
import { projectVersion } from '../../shared/platform/project-folder.ts'
import type { ServerName } from '../../shared/protocol/problems/catalogue.ts'
import { firstPages, signedOutPath } from '../../shared/server/pages/page-paths.ts'
import { type AssetName, consoleAssets } from './assets.ts'
import { may } from './may.ts'
import { administrationPages, type NavigationEntry, workPages } from './navigation.ts'
import { render } from './render.tsx'
import { nearestAbove } from './tabs.tsx'

interface FrameProps {
  readonly title: string
  readonly server: ServerName
  readonly publicOrigins: Readonly<Record<ServerName, string>>
  /** The path of the page, for the navigation. */
  readonly path: string
  /** Undefined on pages for readers who are not signed in. */
  readonly reader: { readonly username: string; readonly rights: ReadonlySet<string> } | undefined
  readonly scripts: readonly AssetName[]
  readonly children: Child
}

/** The whole document as text. */
export const renderFrame = (parts: FrameProps): string => `<!doctype html>\n${render(<Frame {...parts} />)}`

function Frame(parts: FrameProps) {
  const { title, server, scripts, children } = parts
  const base = firstPages[server]
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} · Keyhold`}</title>
        <link rel="icon" href={consoleAssets.path(base, 'keyhold.svg')} />
        <link rel="stylesheet" href={consoleAssets.path(base, 'console.css')} />
        {(['console.js', ...scripts] as const).map((name) => (
          <script src={consoleAssets.path(base, name)} defer />
        ))}
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to content
        </a>
        <Header {...parts} />
        <main id="content" tabindex={-1}>
          {children}
        </main>
        <Footer {...parts} />
      </body>
    </html>
  )
}

function Header({ server, publicOrigins, path, reader }: FrameProps) {
  const isShown = ({ right }: NavigationEntry) => right === undefined || (reader !== undefined && may(reader, right))
  const [ofWork, ofAdministration] = [workPages.filter(isShown), administrationPages.filter(isShown)]
  const url = (entry: Pick<NavigationEntry, 'server' | 'path'>) =>
    entry.server === server ? entry.path : publicOrigins[entry.server] + entry.path
  const ofServer = [...ofWork, ...ofAdministration].filter((entry) => entry.server === server)
  const current = nearestAbove(path, ofServer)
  const links = (entries: readonly NavigationEntry[]) => (
    <ul>
      {entries.map((entry) => (
        <li>
          <a href={url(entry)} aria-current={entry === current ? 'page' : undefined}>
            {entry.text}
          </a>
        </li>
      ))}
    </ul>
  )
  return (
    <header class="top">
      <a class="brand" href={url({ server: 'deal', path: firstPages.deal })}>
        Keyhold
      </a>
      {reader && <nav aria-label="Main">{links(ofWork)}</nav>}
      {reader && ofAdministration.length > 0 && (
        <nav aria-label="Administration">
          <details class="menu">
            <summary aria-current={current && ofAdministration.includes(current) ? 'true' : undefined}>
              Administration
            </summary>
            {links(ofAdministration)}
          </details>
        </nav>
      )}
      {reader && (
        <form class="who" method="post" action={`${publicOrigins.auth}/sessions/current`}>
          <input type="hidden" name="_method" value="DELETE" />
          <input type="hidden" name="return_to" value={publicOrigins.deal + signedOutPath} />
          <span>
            <span class="hint">Signed in as</span> <strong>{reader.username}</strong>
          </span>
          <button type="submit" class="quiet">
            Sign out
          </button>
        </form>
      )}
    </header>
  )
}

function Footer({ server, publicOrigins }: FrameProps) {
  const documentation = server === 'auth' ? '/docs' : '/rest/docs'
  return (
    <footer class="bottom">
      <a href={`${publicOrigins[server]}${documentation}`}>API documentation</a>
      <span>Version {projectVersion()}</span>
    </footer>
  )
}
