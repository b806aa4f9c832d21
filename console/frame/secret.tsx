/** A secret that a page shows once. The reader marks its text by one click, or uses the buttons of the script. */

import type { AssetName } from './assets.ts'

/** The script that a page with secrets names: it copies and saves them. */
export const secretScripts: readonly AssetName[] = ['secret.js']

interface SecretProps {
  readonly id: string
  readonly label: string
  readonly value: string
  /** The name of the file in which the browser saves it, such as `key.pem`. Without it there is no such button. */
  readonly fileName?: string
}

/** The secret, its label, and its buttons. The buttons are hidden where scripts do not run. */
export function Secret({ id, label, value, fileName }: SecretProps) {
  return (
    <div class="field">
      <h2 id={`${id}-label`}>{label}</h2>
      {/* The keyboard reaches it, because a long text scrolls. */}
      <section class="secret" id={id} tabindex={0} aria-labelledby={`${id}-label`}>
        <code>{value}</code>
      </section>
      <p class="actions">
        <button type="button" class="quiet" data-copy={id} hidden>
          Copy
        </button>
        {fileName !== undefined && (
          <button type="button" class="quiet" data-save={id} data-file-name={fileName} hidden>
            Save as {fileName}
          </button>
        )}
        <span class="hint" role="status" data-copied="Copied." data-not-copied="The text is marked: copy it now." />
      </p>
    </div>
  )
}
