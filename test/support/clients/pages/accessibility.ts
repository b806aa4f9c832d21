/** Checks of pages in a browser: WCAG by axe-core, in light and dark and on a phone; pictures of them. */
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Where pictures are kept with TEST_PICTURES=true: each run replaces those of the run before. */
const folder = join(import.meta.dirname, '../../../../data/screenshots')
const keepsPictures = process.env.TEST_PICTURES === 'true'

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const contrast = 'color-contrast'

interface Look {
  readonly name: string
  readonly colorScheme: 'light' | 'dark'
  readonly width: number
  readonly height: number
  /** Options of axe. */
  readonly rules: object
}

/** What axe looks for in each look: the dark one differs by its colours alone, and a phone by everything else. */
const looks: readonly Look[] = [
  { name: 'light', colorScheme: 'light', width: 1280, height: 900, rules: { runOnly: tags } },
  {
    name: 'dark',
    colorScheme: 'dark',
    width: 1280,
    height: 900,
    rules: { runOnly: { type: 'rule', values: [contrast] } },
  },
  {
    name: 'phone',
    colorScheme: 'light',
    width: 390,
    height: 844,
    rules: { runOnly: tags, rules: { [contrast]: { enabled: false } } },
  },
]

interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
}

/** axe runs beside the page's scripts: the page's policy does not concern it. */
async function findingsOf(page: Page, rules: object, foreign: string[]): Promise<string[]> {
  const context = JSON.stringify({ include: ['html'], exclude: foreign })
  const { violations } = await page.evaluate<AxeResult>(`axe.run(${context}, ${JSON.stringify(rules)})`)
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`)
}

/**
 * Expects no finding on the page as it is now, in all looks, and no content wider than a phone. With
 * TEST_PICTURES=true, keeps a picture of each look under this name. `foreign` selects what others have made.
 */
export async function expectAccessible(page: Page, name: string, foreign: string[] = []): Promise<void> {
  await page.evaluate(axeSource)
  for (const { name: look, colorScheme, width, height, rules } of looks) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height })
    expect(await findingsOf(page, rules, foreign), `${name}, ${look}`).toEqual([])
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')
    expect(wide, `${name}, ${look}: pixels beyond the screen`).toBeLessThanOrEqual(0)
    await keepPicture(page, `${name}-${look}`)
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1280, height: 900 })
}

/** With TEST_PICTURES=true, keeps a picture of the page as it is now. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  if (!keepsPictures) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}
