/** Lists, changes of many deals, import and the dashboard as a person uses them. */
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { expectAccessible, keepPicture } from '../../support/clients/pages/accessibility.ts'
import { describeInBrowser } from '../../support/clients/pages/browser.ts'
import { openConsoleInBrowser, signInOnPage } from '../../support/worlds/console-world.ts'

type World = Awaited<ReturnType<typeof openConsoleInBrowser>>

const nasty = '<b onclick=alert(1)>Bold</b> & "quoted"'

async function seed({ stack }: World): Promise<string> {
  const { access: token } = await stack.logIn('alice')
  const lines = Array.from({ length: 15 }, (_, index) => ({
    id: `seed.${index}`,
    action: 'CreateDeal',
    params: {
      id: `0198c0de-0000-4000-8000-0000000000${10 + index}`,
      price: index * 13.5,
      name: index === 3 ? nasty : `Deal ${10 + index}`,
      ...(index === 4 && { completionDate: '2001-01-01' }),
    },
  }))
  const reply = await stack.deal.send('/commands', { token, json: lines })
  expect(reply.text).not.toContain('"problem"')
  const cancelled = `/rest/v1/deals/0198c0de-0000-4000-8000-000000000024/cancel`
  const done = await stack.deal.send(cancelled, { token, json: { reason: 'test', penaltyAmount: 0 } })
  expect(done.status, done.text).toBe(200)
  return token
}

async function filterAndSave({ url }: World, page: Page) {
  await page.goto(url('/console/deals'))
  await signInOnPage(page, 'admin')
  await page.waitForURL(url('/console/deals'))
  await expectAccessible(page, 'deals')
  await page.getByLabel('Name or description').fill('Deal 1')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL(url('/console/deals?q=Deal+1'))
  await page.getByText('Save this view').click()
  await page.getByLabel('Name of the view').fill(nasty)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.goto(url('/console/deals?currency=EUR&priceMin=x'))
  await expectAccessible(page, 'deals-refused')
  expect(await page.getByText('Save this view').count()).toBe(0)
  await page.getByRole('link', { name: nasty, exact: true }).click()
  await page.waitForURL(url('/console/deals?q=Deal+1'))
  await page.getByRole('button', { name: `Remove the view ${nasty}` }).click()
  expect(await page.getByRole('link', { name: nasty, exact: true }).count()).toBe(0)
}

async function holdMany({ url, stack }: World, page: Page, token: string) {
  await page.goto(url('/console/deals?sort=-name&limit=50'))
  expect(await page.getByRole('group', { name: /Change the selected deals/ }).isVisible()).toBe(false)
  await page.getByLabel('Select all on this page').check()
  await page.getByRole('group', { name: 'Change the selected deals' }).waitFor()
  await page.getByLabel('Reason').fill('Audit')
  await page.getByRole('button', { name: 'Apply to the selected deals' }).click()
  await page.getByText('14 changed, 1 refused.').waitFor()
  expect(await page.getByRole('row').nth(1).textContent()).toMatch(/Deal 24.*refused.*completed or cancelled/)
  await expectAccessible(page, 'deals-changed')
  const { body } = await stack.deal.send('/rest/v1/deals/summary', { token })
  expect(JSON.stringify(body.items)).toContain('"held":true,"currency":"EUR","count":14')
  await page.getByRole('link', { name: 'Back to the deals' }).click()
  await page.waitForURL(url('/console/deals?sort=-name&limit=50'))
}

/** What of the list is printed: all rows, and nothing to press. */
async function print({ url }: World, page: Page) {
  await page.goto(url('/console/deals?limit=50'))
  await page.emulateMedia({ media: 'print' })
  expect(await page.getByRole('row').count()).toBe(16)
  for (const row of await page.getByRole('row').all()) expect(await row.isVisible()).toBe(true)
  expect(await page.getByRole('button').count()).toBe(0)
  await keepPicture(page, 'deals-printed')
  await page.emulateMedia({ media: 'screen' })
}

/** The header of whoever administrates stays one line on a small laptop. */
async function administrate({ url }: World, page: Page) {
  await page.setViewportSize({ width: 1366, height: 768 })
  await page.goto(url('/console'))
  expect((await page.getByRole('banner').boundingBox())?.height).toBeLessThan(60)
  await page.getByText('Administration', { exact: true }).click()
  await expectAccessible(page, 'menu')
  await page.getByRole('link', { name: 'Resource servers' }).click()
  await page.getByRole('heading', { name: 'Resource servers' }).waitFor()
}

async function importFile({ url }: World, page: Page) {
  await page.goto(url('/console/deals/import'))
  await expectAccessible(page, 'import')
  const rows = Array.from({ length: 30 }, (_, index) => `Imported ${index},${index === 7 ? 'x' : index}`)
  const buffer = Buffer.from(`name,price\r\n${rows.join('\r\n')}\r\n`)
  await page.getByLabel('File').setInputFiles({ name: 'deals.csv', mimeType: 'text/csv', buffer })
  await page.getByRole('button', { name: 'Check the file' }).click()
  await page.getByText('29 rows can be imported, 1 cannot.').waitFor()
  await expectAccessible(page, 'import-checked')
  await page.getByRole('button', { name: 'Create 29 deals' }).click()
  await page.getByText('Rows carried out: 29. Rows refused: 1.').waitFor()
  await expectAccessible(page, 'import-result')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download the refused rows' }).click(),
  ])
  expect(download.suggestedFilename()).toBe('refused.csv')
}

async function watch({ url, stack }: World, page: Page, token: string) {
  await page.goto(url('/console'))
  await expectAccessible(page, 'dashboard')
  const count = page.getByRole('row', { name: /^open/ })
  const before = await count.textContent()
  await page.mouse.move(200, 200)
  await stack.deal.send('/rest/v1/deals', { token, json: { name: 'Just now', price: 7 } })
  await page.getByRole('link', { name: 'Just now' }).waitFor()
  expect(await count.textContent()).not.toBe(before)
}

async function webhooks({ url }: World, page: Page) {
  await page.goto(url('/console/webhooks/new'))
  await page.getByLabel('URL').fill('https://8.8.8.8/hook')
  await expectAccessible(page, 'webhook-new')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText(/^whsec_/).waitFor()
  await expectAccessible(page, 'webhook-secret')
  await page.getByRole('link', { name: 'To the webhook' }).click()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('The webhook is paused.').waitFor()
  await expectAccessible(page, 'webhook')
  await page.getByRole('link', { name: 'Delete' }).click()
  await expectAccessible(page, 'webhook-delete')
  await page.getByRole('button', { name: 'Delete the webhook' }).click()
  await page.getByText('The webhook was deleted.').waitFor()
  await expectAccessible(page, 'webhooks')
}

/** The same forms where scripts do not run. */
async function withoutScripts({ url, browser }: World) {
  const { page } = await browser.newPage({ javaScriptEnabled: false })
  await page.goto(url('/console/deals?sort=name&limit=50&status=cancelled'))
  await signInOnPage(page, 'alice')
  await page.waitForURL(url('/console/deals?sort=name&limit=50&status=cancelled'))
  await page.getByRole('checkbox', { name: 'Select Deal 24' }).check()
  await page.getByRole('button', { name: 'Apply to the selected deals' }).click()
  await page.getByText('Reason: This is needed.').waitFor()
  await page.getByLabel('Reason').fill('Audit')
  await page.getByRole('button', { name: 'Apply to the selected deals' }).click()
  await page.getByText('0 changed, 1 refused.').waitFor()
  await page.getByText('The deal is completed or cancelled.').waitFor()
  await page.goto(url('/console/deals/import'))
  const buffer = Buffer.from('name,price\nWithout scripts,1\n')
  await page.getByLabel('File').setInputFiles({ name: 'deals.csv', mimeType: 'text/csv', buffer })
  await page.getByRole('button', { name: 'Check the file' }).click()
  await page.getByRole('button', { name: 'Create 1 deal' }).click()
  await page.getByText('Rows carried out: 1. Rows refused: 0.').waitFor()
  await page.goto(url('/console'))
  await page.getByRole('link', { name: 'Without scripts' }).waitFor()
}

describeInBrowser('a person', () => {
  it('filters, changes and imports many deals, and sees them on the dashboard', async () => {
    const world = await openConsoleInBrowser()
    try {
      const token = await seed(world)
      const { page, complaints, origins } = await world.browser.newPage()
      await filterAndSave(world, page)
      await holdMany(world, page, token)
      await print(world, page)
      await administrate(world, page)
      await importFile(world, page)
      await watch(world, page, token)
      await webhooks(world, page)
      await withoutScripts(world)
      await page.goto(world.url('/console/tasks?username=alice'))
      await expectAccessible(page, 'tasks-of-another')
      // Refused forms are pages with their status.
      expect(complaints.filter((line) => !/status of 400|events.*ERR_ABORTED/.test(line))).toEqual([])
      expect([...origins].sort()).toEqual([world.stack.auth.url, world.stack.deal.url].sort())
    } finally {
      await world.close()
    }
  })
})
