import { expect, it } from 'vitest'
import { expectAccessible } from '../../support/clients/pages/accessibility.ts'
import { describeInBrowser } from '../../support/clients/pages/browser.ts'
import { openConsoleInBrowser, signInOnPage } from '../../support/worlds/console-world.ts'

describeInBrowser('a person', () => {
  it('whose browser has got a second session cookie signs in again, and is back', async () => {
    const { browser, url, close } = await openConsoleInBrowser()
    try {
      const { page } = await browser.newPage()
      await page.goto(url('/console/tasks'))
      await signInOnPage(page, 'alice')
      await page.waitForURL(url('/console/tasks'))
      await page.evaluate("document.cookie = 'keyhold_session=another; path=/console'")
      expect((await page.goto(url('/console/tasks')))?.status()).toBe(400)
      await page.getByText('delete the cookies of this site').first().waitFor()
      await page.goto(url('/console/tasks'))
      await signInOnPage(page, 'alice')
      await page.waitForURL(url('/console/tasks'))
    } finally {
      await close()
    }
  })

  it('signs in, is asked again when the session has ended, and is back where he was', async () => {
    const { browser, url, stack, close } = await openConsoleInBrowser()
    try {
      const { page, complaints } = await browser.newPage()
      await page.goto(url('/console/tasks'))
      await expectAccessible(page, 'sign-in')
      await signInOnPage(page, 'alice', 'not the password')
      await page.getByRole('alert').waitFor()
      await expectAccessible(page, 'sign-in-refused')
      await signInOnPage(page, 'alice')
      await page.waitForURL(url('/console/tasks'))
      await expectAccessible(page, 'tasks')
      const { access } = await stack.logIn('alice')
      const { body } = await stack.auth.send('/sessions', { token: access })
      for (const { id, kind } of body.items as { id: string; kind: string }[])
        if (kind === 'session') await stack.auth.send(`/sessions/${id}`, { method: 'DELETE', token: access })
      await page.goto(url('/console/tasks?limit=7'))
      await signInOnPage(page, 'alice')
      await page.waitForURL(url('/console/tasks?limit=7'))
      await page.evaluate("localStorage.setItem('views alice /console/deals', '[]')")
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByText('You have signed out.').waitFor()
      await page.goto(url('/console/assets/pages.css'))
      expect(await page.evaluate('localStorage.length')).toBe(0)
      await page.goto(url('/account/sign-in'))
      await page.goBack()
      await page.goBack()
      await page.goBack()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      expect(complaints.filter((line) => !/401/.test(line))).toEqual([])
    } finally {
      await close()
    }
  })
})
