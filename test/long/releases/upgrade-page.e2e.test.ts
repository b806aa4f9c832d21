import { readFileSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { missingForOperators, openOperatorShell } from '../../support/processes/operators/operator-shell.ts'
import { releasedFolder, releasedIsApart } from '../../support/processes/released.ts'

const page = readFileSync(join(import.meta.dirname, '../../../docs/upgrade.md'), 'utf8')
const [stop = '', redis = '', start = '', back = '', ...others] = [...page.matchAll(/^```sh\n(.*?)^```\n/gms)].map(
  ([, script = '']) => script,
)

/** What docs/operations.md says before, and data: the name of a deal. */
const before = `
AUTH=http://127.0.0.1:4000 DEAL=http://127.0.0.1:4001 AUTHS=auth DEALS=deal-1
json() { node -p "const it = JSON.parse(require('fs').readFileSync(0, 'utf8')); $1"; }
ready() { curl -s "$1/readyz" | json 'it.status + it.dependencies.map((one) => " " + one.name + " " + one.status).join("")'; }
token() { curl -s $AUTH/login -H 'Content-Type: application/json' -d "{\\"username\\":\\"admin\\",\\"password\\":\\"$(first_password)\\"}" | json it.access_token; }
call() { curl -s $DEAL/rest/v1/deals -H "Authorization: Bearer $(token)" -H 'Content-Type: application/json' "$@"; }
names() { call | json 'it.items.map(({ name }) => name).sort().join(" ")'; }
code() { ln -sfn "$1" dist; }
cache acl setuser keyhold resetkeys '~{keyhold}:*' resetchannels '&{keyhold}:*'
code former
start auth deal-1
call -d '{"name":"before","price":1}' -o created
`

const asDescribed = `
code present
${redis}
${start}
call -d '{"name":"since","price":1}' -o created
names
code former
${back}
start auth deal-1
echo back
names
`

describe.skipIf(missingForOperators !== undefined || !releasedIsApart)('docs/upgrade.md, run from 0.2.0', () => {
  it('leads over with all data, and back to those of the backup', async () => {
    expect(others).toEqual([])
    const shell = await openOperatorShell()
    try {
      renameSync(join(shell.folder, 'dist'), join(shell.folder, 'present'))
      symlinkSync(releasedFolder(), join(shell.folder, 'former'))
      const lines = (await shell.run([before, stop, asDescribed].join('\n'))).trim().split('\n')
      expect(lines).toEqual([
        'OK',
        'OK',
        expect.stringMatching(/^ready .*cache ok/),
        expect.stringMatching(/^ready .*cache ok/),
        expect.stringMatching(/^In order: \d+ entries/),
        'before since',
        'OK',
        'back',
        'before',
      ])
    } finally {
      await shell.close()
    }
  }, 300_000)
})
