import { html, type Markup } from '../html/markup.ts'

/** The targets of the forms. */
interface SessionFormTargets {
  readonly authOrigin: string
  /** The absolute URL of the page itself. */
  readonly returnTo: string
}

/**
 * Forms to sign in and out of a session, without a script. After the redirect back to the page, the fragment in its URL
 * shows the outcome.
 */
export const sessionForms = ({
  authOrigin,
  returnTo,
}: SessionFormTargets): Markup => html`<section class="session" aria-labelledby="session-heading">
<h2 id="session-heading">Session</h2>
<p>Signed in, calls from this page go with the session cookie. For any other credential, sign out and use <b>Authorize</b>: a request carries one credential.</p>
<p id="signed-in" class="notice">You have signed in.</p>
<p id="signed-out" class="notice">You have signed out.</p>
<form method="post" action="${authOrigin}/sessions">
<input type="hidden" name="return_to" value="${returnTo}#signed-in">
<label for="session-username">User name</label>
<input id="session-username" name="username" required maxlength="64" autocomplete="username" autocapitalize="none" spellcheck="false">
<label for="session-password">Password</label>
<input id="session-password" name="password" type="password" required autocomplete="current-password">
<button>Sign in</button>
</form>
<form method="post" action="${authOrigin}/sessions/current">
<input type="hidden" name="_method" value="DELETE">
<input type="hidden" name="return_to" value="${returnTo}#signed-out">
<button>Sign out</button>
</form>
</section>`
