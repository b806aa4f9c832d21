import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { wholePage } from '../../docs/markdown.ts'
import {
  missingForOperators,
  type OperatorShell,
  openOperatorShell,
} from '../../support/processes/operators/operator-shell.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack } from '../../support/worlds/stack.ts'

const page = wholePage('operations.md')
const restoredDatabase = readFileSync(
  join(import.meta.dirname, '../../support/processes/stores/restored-database.sh'),
  'utf8',
)

interface Block {
  readonly script: string
  /** What the page says it prints, `…` for what differs; undefined when it says nothing. */
  readonly printed: string | undefined
}

/** What can be pasted, in its order, each with what the page says below it. */
const blocks: readonly Block[] = [...page.matchAll(/^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?/gms)].map(
  ([, script = '', printed]) => ({ script, printed }),
)

/** Columns may be wider; `…` stands for any part of a line, and alone on a line for any number of lines. */
function patternOf(printed: string): RegExp {
  const lines = printed.trimEnd().split('\n')
  const patterns = lines.map((line) =>
    line === '…' ? '(?:.*\\n)*' : `${line.split(/ +/).map(wordPattern).join(' +')} *\\n`,
  )
  return new RegExp(`^${patterns.join('')}$`)
}

const wordPattern = (word: string): string =>
  word
    .split('…')
    .map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*')

/**
 * Where the page says that the feed is in time, the server is asked when it is: on a busy machine, servers that start
 * beside it hold the feed up.
 */
const whenInTime = ({ script, printed }: Block): string =>
  printed?.includes('principal-feed ok')
    ? script.replace(
        /^ready \$(AUTH|DEAL)$/gm,
        (line, name) => `await ${name === 'AUTH' ? 'auth' : 'deal-1'} '*unavailable*'\n${line}`,
      )
    : script

const border = '-- next block --\n'

describe.skipIf(missingForOperators)(
  `docs/operations.md, run${missingForOperators ? `: ${missingForOperators}` : ''}`,
  () => {
    let shell: OperatorShell
    let printed: readonly string[]

    beforeAll(async () => {
      shell = await openOperatorShell()
      printed = (await shell.run(blocks.map(whenInTime).join(`printf -- '${border.trim()}\\n'\n`))).split(border)
    }, 600_000)
    afterAll(() => shell?.close())

    it('prints what the page says, block by block', () => {
      expect(printed.length).toBe(blocks.length)
      const said = blocks.flatMap((block, index) =>
        block.printed === undefined ? [] : [{ index, text: block.printed }],
      )
      expect(said.length).toBeGreaterThan(30)
      for (const { index, text } of said) expect(printed[index]).toMatch(patternOf(text))
    })

    it('prints nothing of a failure where the page says nothing', () => {
      const silent = printed.filter((_, index) => blocks[index]?.printed === undefined)
      for (const text of silent) expect(text).not.toMatch(/refused|failed|error|unavailable/i)
    })

    it('leaves no secret in the logs', () => {
      const logs = Array.from(['auth', 'auth-2', 'deal-1', 'deal-2'], (one) =>
        readFileSync(join(shell.folder, `${one}.log`), 'utf8'),
      ).join('')
      expect(logs).toContain('audit head')
      expect(logs).not.toMatch(/eyJ[\w-]{20}/)
      for (const name of ['SECRETS_KEY', 'SERVICE_SECRET', 'FORMER_SECRETS_KEYS'])
        expect(logs).not.toContain(readFileSync(join(shell.folder, 'auth', name), 'utf8'))
    })

    it('says what a restored auth database needs: a new id, by which running deal servers too drop what they held', async () => {
      const words = blocks.filter(({ script }) => /^(AUTH=|login\(\))/m.test(script)).map(({ script }) => script)
      const definitions = words.flatMap((script) =>
        script.split('\n').filter((line) => /^(AUTHS?=|\w+\(\))/.test(line)),
      )
      const admin =
        'export KEYHOLD_AUTH_URL=$AUTH KEYHOLD_DEAL_URL=$DEAL KEYHOLD_USER=admin\n' +
        'export KEYHOLD_PASSWORD=$(ops --json users recover-admin | json it.password)'
      const facts = await shell.run([...definitions, admin, restoredDatabase].join('\n'))
      expect(facts.trimEnd().split('\n')).toEqual([
        'before: 200 200',
        'with the former id: principal-feed unavailable, 503',
        'the database is older than the cache',
        'with a new id: principal-feed ok, 200, 401',
      ])
    })
  },
)

describe('docs/operations.md, read', () => {
  it('has words and calls that a shell understands', async () => {
    const definitions = [...page.matchAll(/^```bash\n(.*?)^```/gms)]
    expect(definitions.length).toBe(8)
    for (const [, script = ''] of definitions) await promisify(execFile)('bash', ['-nc', script])
  })

  it('defines a word that writes a setting, and no other, wherever it stands', async () => {
    const [compose = '', systemd = '', checkout = ''] = [...page.matchAll(/^```bash\n(.*?)^```/gms)].map(
      ([, script = '']) => script,
    )
    const folder = mkdtempSync(join(tmpdir(), 'keyhold-settings-'))
    mkdirSync(join(folder, 'auth'))
    writeFileSync(join(folder, 'auth/NAME'), 'old')
    writeFileSync(join(folder, 'auth/OTHER'), 'kept')
    for (const name of ['auth.env', 'settings']) writeFileSync(join(folder, name), 'OTHER=kept\nNAME=old\n')
    const standIns = 'sudo() { "$@"; }\ndocker() { shift 8; sh "$@"; }\n'
    const value = 'postgres://auth:a&b,c=d@host/auth?x=$1'
    const calls = `setting auth NAME; echo; setting auth NAME '${value}'; setting auth NAME; echo; setting auth OTHER`
    for (const words of [compose, systemd, checkout]) {
      const script = standIns + words.replace(/\/secrets\/|\/etc\/keyhold\/|\bdata(?:\/|\b)/g, `${folder}/`) + calls
      const { stdout } = await promisify(execFile)('bash', ['-euc', script])
      expect(stdout.split('\n').filter(Boolean)).toEqual(['old', value, 'kept'])
    }
    rmSync(folder, { recursive: true })
  })
})

describeEmbedded('docs/operations.md, its metrics', (openBackend) => {
  it('are all that the servers give, each of those servers', async () => {
    const stack = await openStack(openBackend)
    const { access: token } = await stack.logIn('alice')
    await stack.auth.send('/me', { token })
    const admin = (await stack.logIn('admin')).access
    const json = { name: 'deals-reader', resourceServer: 'deals' }
    const { id, secret } = (await stack.auth.send('/services', { token: admin, json })).body
    const authorization = `Basic ${btoa(`${id}:${secret}`)}`
    await stack.auth.send('/access/v1/evaluation', { json: {}, headers: { authorization } })
    await stack.deal.send('/rest/v1/deals', { token })
    const given = new Map<string, Set<string>>()
    for (const server of [stack.auth, stack.deal]) {
      const { text } = await server.send('/metrics')
      for (const [, name = ''] of text.matchAll(/^# TYPE (keyhold_\w+)/gm))
        given.set(name, given.get(name) ?? new Set())
      for (const [, sample = '', server = ''] of text.matchAll(/^(keyhold_\w+)\{server="(\w+)"/gm))
        given.get(sample.replace(/_(bucket|sum|count)$/, ''))?.add(server)
    }
    await stack.close()
    // These servers have no certificate.
    given.set('keyhold_certificate_expiry_timestamp_seconds', new Set(['auth', 'deal']))
    const rows = [...page.matchAll(/^\| `(keyhold_\w+)` \| (\w+) \|/gm)].map(
      ([, name, servers]) => `${name} ${servers}`,
    )
    const expected = [...given].map(([name, servers]) => `${name} ${servers.size === 2 ? 'both' : [...servers]}`)
    expect(rows.toSorted()).toEqual(expected.toSorted())
  })
})
