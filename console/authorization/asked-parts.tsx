/** What the pages have in common that ask users what an application may do. */
import type { AskedRequest } from './asked-request.ts'

/** What an application may do, and what it learns. */
export function MayDo({ client, rights, scopes }: Pick<AskedRequest, 'client' | 'rights' | 'scopes'>) {
  const learns = ['profile', 'email', 'roles'].filter((scope) => scopes.includes(scope)).map((scope) => words[scope])
  return (
    <>
      <p>{rights?.length === 0 ? 'It can do nothing in your name.' : 'It may, as far as you may:'}</p>
      <ul>
        {rights === null ? (
          <li>everything</li>
        ) : (
          widest(rights).map(({ description, name }) => <li>{description || name}</li>)
        )}
      </ul>
      {client.mode === 'propose' && <p>Its commands wait until somebody approves them.</p>}
      <p>It learns who you are{learns.length > 0 && `: ${learns.join(', ')}`}.</p>
    </>
  )
}

type Rights = NonNullable<AskedRequest['rights']>

/** Without rights on own deals that are asked for on all deals, too. */
const widest = (rights: Rights): Rights =>
  rights.filter(({ name }) => !rights.some((other) => name === `${other.name}:own`))

interface DecisionProps {
  /** The route of the API. */
  readonly action: string
  readonly hidden: Readonly<Record<string, string>>
}

/** The form with both answers. */
export function Decision({ action, hidden }: DecisionProps) {
  return (
    <form method="post" action={action} class="stack">
      {Object.entries(hidden).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <button type="submit" name="decision" value="allow">
        Allow
      </button>
      <button type="submit" name="decision" value="refuse" class="quiet">
        Refuse
      </button>
    </form>
  )
}

const words: Readonly<Record<string, string>> = {
  profile: 'your user name and your name',
  email: 'your e-mail address',
  roles: 'your roles',
}
