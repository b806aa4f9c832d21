/**
 * Makes the picture of the README: `npm run screenshot -- http://127.0.0.1:4001`, beside a running `npm start` with its
 * demo deals. TEST_BROWSER may name the Chromium to use.
 */
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const [origin = 'http://127.0.0.1:4001'] = process.argv.slice(2)
const fileOf = (name: string) => fileURLToPath(new URL(`../docs/pictures/${name}.png`, import.meta.url))
const executablePath = process.env.TEST_BROWSER ?? '/usr/bin/chromium'
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
try {
  const page = await browser.newPage({ viewport: { width: 1100, height: 760 }, colorScheme: 'light' })
  await page.goto(`${origin}/console/deals`)
  await page.getByLabel('User name').fill('alice')
  await page.getByLabel('Password').fill('alice-demo-password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Pumps for the Lindau waterworks' }).click()
  await page.getByRole('heading', { name: 'Pumps for the Lindau waterworks' }).waitFor()
  await page.screenshot({ path: fileOf('console') })
} finally {
  await browser.close()
}
