/**
 * Makes a use case of a deal: `npm run new:use-case -- stamp-deal stamped`. Writes its file and its test. It remembers
 * its reason in a new field of the deal, since a command that is sent again changes nothing. Adds the lines of both to
 * the list of use cases, to the places of a field, to the transition table of the tests and to docs/deal-model.md. The
 * second word is its state name, the past participle; when it is left out, the verb with `ed`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** The names of a use case. */
interface Names {
  /** `stamp-deal` */
  readonly file: string
  /** `StampDeal` */
  readonly name: string
  /** `stampDeal` */
  readonly variable: string
  /** `stamp` */
  readonly verb: string
  /** `stamped` */
  readonly state: string
  /** `Stamp` */
  readonly title: string
  /** `stampReason`: the field that it remembers its reason in. */
  readonly field: string
}

function namesOf([file = '', state]: readonly string[]): Names {
  if (!/^[a-z]+(-[a-z]+)*-deal$/.test(file)) fail('Name it by verb and noun, such as stamp-deal.')
  const verb = file.slice(0, -'-deal'.length)
  const participle = state ?? (verb.endsWith('e') ? `${verb}d` : `${verb}ed`)
  if (!/^[a-z]+(-[a-z]+)*$/.test(participle)) fail('Name the state in small letters, such as stamped.')
  const name = file.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())
  const words = verb.replaceAll('-', ' ')
  return {
    file,
    name,
    verb,
    state: participle,
    variable: name.charAt(0).toLowerCase() + name.slice(1),
    title: words.charAt(0).toUpperCase() + words.slice(1),
    field: `${verb.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())}Reason`,
  }
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

const inWords = (name: string): string => name.replaceAll('-', ' ')

const sourceOf = ({ name, variable, verb, state, title, field }: Names): string => `import * as z from 'zod'
import { requireOpen } from '../domain/deal.ts'
import { defineEvent } from '../domain/events.ts'
import { defineDealCommand } from './define-use-case.ts'
import { reasonText } from './parameters.ts'

const happened = defineEvent({
  type: 'deal.${state}',
  phrase: '${inWords(state)} the deal',
  details: (facts) => [facts.text('reason')],
  apply: (deal, { reason }: { reason: string }) => ({ ...deal, ${field}: reason }),
})

/** ${title}s a deal that is open. With the same reason again nothing changes. */
export const ${variable} = defineDealCommand({
  name: '${name}',
  summary: '${title} a deal',
  right: { name: 'deal.${verb}', description: '${title} deals', own: '${title} own deals' },
  verb: '${verb}',
  stateName: '${state}',
  words: { title: '${title}', done: 'The deal is ${inWords(state)}.' },
  events: [happened],
  refusals: ['deal-closed'],
  params: z.strictObject({ reason: reasonText }),
  guard: requireOpen,
  decide: (deal, { reason }) => (deal.${field} === reason ? [] : [happened({ reason })]),
})
`

const testOf = ({ name, state }: Names): string => `import { expect, it } from 'vitest'
import { decidePure, pureDeal } from '../../support/worlds/pure-deals.ts'

const params = { reason: 'test' }

it.each(['OPEN', 'HELD'] as const)('has its event for a deal that is %s', (state) => {
  expect(decidePure(['${name}', params], pureDeal(state))).toEqual([{ type: 'deal.${state}', data: params }])
})

it('changes nothing with the same reason again', () => {
  expect(decidePure(['${name}', params], pureDeal('OPEN', [['${name}', params]]))).toEqual([])
})

it.each(['COMPLETED', 'CANCELLED'] as const)('is refused for a deal that is %s', (state) => {
  expect(decidePure(['${name}', params], pureDeal(state))).toMatchObject({ code: 'deal-closed' })
})
`

/** Inserts a line into a file: behind the last line that matches, between two lines that match. */
function insert(path: string, line: string, { after, within }: { after: RegExp; within?: RegExp }): void {
  const lines = readFileSync(join(root, path), 'utf8').split('\n')
  const begin = within ? lines.findIndex((one) => within.test(one)) : 0
  const end = lines.findIndex((one, at) => at > begin && within !== undefined && /^## /.test(one))
  const at = lines.findLastIndex((one, index) => index >= begin && (end < 0 || index < end) && after.test(one))
  if (begin < 0 || at < 0) fail(`${path} has no place for ${line}`)
  lines.splice(at + 1, 0, line)
  writeFileSync(join(root, path), lines.join('\n'))
}

const names = namesOf(process.argv.slice(2))
const { file, name, variable, verb, state, field, title } = names
const column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const source = `deal-server/use-cases/${file}.ts`
const test = `test/deal-server/use-cases/${file}.test.ts`
const index = 'deal-server/use-cases/index.ts'
const model = 'docs/deal-model.md'
if (existsSync(join(root, source))) fail(`There is ${source} already.`)

writeFileSync(join(root, source), sourceOf(names))
writeFileSync(join(root, test), testOf(names))
insert(index, `import { ${variable} } from './${file}.ts'`, { after: /^import .* from '\.\// })
insert(index, `  ${variable},`, { after: /^ {2}\w+,$/ })
insert('test/support/worlds/transition-table.ts', `  row('${name}', { reason: 'test' }, whileOpen),`, {
  after: /^ {2}row\('/,
})
insert(model, `| ${name} | \`reason\` | \`deal.${verb}\` | \`${verb}\` | \`${state}\` |`, {
  within: /^## Use cases/,
  after: /^\| \w+ \|.*\|.*\|.*\|.*\|$/,
})
insert(
  'deal-server/domain/deal-fields.ts',
  `  ${field}: { kind: 'text', nullable: true, label: '${title}: reason' },`,
  {
    after: /^ {2}purgeAt: /,
  },
)
insert('deal-server/store/schema.ts', `    ${field}: text('${column}'),`, { after: /^ {4}ownerUserId: / })
insert('deal-server/http/representations/represent-deal.ts', `    ${field}: deal.${field},`, {
  after: /^ {4}purgeAt: /,
})
insert(model, `| \`${field}\` | 1 to 1,000 characters, or null | ${name} |`, {
  within: /^## Fields/,
  after: /^\| `deletedAt`/,
})
const closed = '`deal-closed`'
insert(model, `| ${name} | = | = | ${closed} | ${closed} | \`not-found\` |`, {
  within: /^## Transitions/,
  after: /^\|/,
})
insert(model, `| \`deal.${state}\` | \`reason\` |`, { within: /^## Events/, after: /^\| `deal\./ })

process.stdout.write(`Made ${source} and ${test}. See its lines in other files with git diff. Then:
  npm run migrations
  npx biome check --write .
  npx vitest run test/client/documents.e2e.test.ts test/docs/routes-page.test.ts --update
  npm test
`)
