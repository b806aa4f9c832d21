/**
 * A browser without a window, for suites about what pages do there: they see what its console said and which hosts it
 * asked.
 */
import { accessSync, constants } from 'node:fs'
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { describe } from 'vitest'

/** A page and what was seen of it. */
export interface ObservedPage {
  readonly page: Page
  /** Errors and warnings of the console, uncaught errors, violations of the page's policy, requests that failed. */
  readonly complaints: readonly string[]
  /** The origins of all requests. */
  readonly origins: ReadonlySet<string>
}

export interface TestBrowser {
  /** A page in a context of its own: no cookie, nothing cached. */
  newPage(options?: Pick<BrowserContextOptions, 'javaScriptEnabled'>): Promise<ObservedPage>
  close(): Promise<void>
}

/** The first one is Chromium without what draws a window, and takes a third less of processor time. */
const candidates = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']
  .flatMap((name) => ['/usr/bin', '/usr/local/bin', '/snap/bin'].map((folder) => `${folder}/${name}`))
  .concat('/Applications/Google Chrome.app/Contents/MacOS/Google Chrome')

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The browser to use. TEST_BROWSER names it, and then it must be there: suites fail instead of being skipped. */
const executablePath = process.env.TEST_BROWSER ?? candidates.find(isExecutable)

const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync']
const silent = ['--disable-background-networking', '--disable-component-update']

/** Starts the browser with an empty profile. */
export async function openBrowser(): Promise<TestBrowser> {
  const browser = await chromium.launch({
    executablePath: executablePath ?? '',
    args: ['--no-sandbox', ...quiet, ...silent],
  })
  return {
    newPage: async (options = {}) =>
      observe(await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })),
    close: () => browser.close(),
  }
}

/** Makes every violation show in the console, also those that a policy reports without one. */
const reportViolations = `document.addEventListener('securitypolicyviolation', (event) => {
  console.error('policy violated: ' + event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sourceFile)
})`

async function observe(context: BrowserContext): Promise<ObservedPage> {
  await context.addInitScript(reportViolations)
  const page = await context.newPage()
  page.setDefaultTimeout(90_000)
  const complaints: string[] = []
  const origins = new Set<string>()
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()))
      complaints.push(`${message.type()}: ${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`))
  page.on('requestfailed', (request) => {
    // A browser that leaves a page ends the request for its icon.
    if (request.url().includes('/keyhold.svg?') && request.failure()?.errorText === 'net::ERR_ABORTED') return
    complaints.push(`failed: ${request.url()} ${request.failure()?.errorText}`)
  })
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url())) origins.add(new URL(request.url()).origin)
  })
  return { page, complaints, origins }
}

/** Runs a suite in a browser, or skips it by name where there is none. */
export function describeInBrowser(name: string, suite: () => void): void {
  if (executablePath === undefined) describe.skip(`${name}: no Chromium, and TEST_BROWSER is not set`, suite)
  else describe(`${name} (browser)`, suite)
}
