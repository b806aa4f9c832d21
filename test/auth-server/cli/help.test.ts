import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { createOpsProgram } from '../../../auth-server/cli/program.ts'
import { readOperatorConfig } from '../../../auth-server/config.ts'
import { projectVersion } from '../../../shared/platform/project-folder.ts'
import { opsWith } from '../../support/processes/operators/ops.ts'

const { stdout: output, stderr: errors } = process
const { program } = await createOpsProgram(readOperatorConfig({}).config, { output, errors })

const leaves = (command: Command, path: readonly string[] = []): { command: Command; path: readonly string[] }[] =>
  command.commands.length === 0
    ? [{ command, path }]
    : command.commands.flatMap((each) => leaves(each, [...path, each.name()]))

it('has the commands of the contract', () => {
  const groups = Object.fromEntries(
    program.commands.map((group) => [group.name(), group.commands.map((c) => c.name())]),
  )
  expect(groups).toEqual({
    keys: ['status', 'generate', 'promote', 'rotate', 'retire', 'revoke', 'verify'],
    users: ['recover-admin'],
    audit: ['verify', 'drop'],
    secrets: ['generate', 'reencrypt'],
    deals: ['check'],
  })
})

it('says its version', async () => {
  const { code, out, err } = await opsWith({})(['--version'])
  expect({ code, out, err }).toEqual({ code: 0, out: `${projectVersion()}\n`, err: '' })
})

it.each([
  ['users list', '/users'],
  ['users unlock erin', '/users'],
  ['--json api-keys', '/api-keys'],
  ['services rotate --help', '/services'],
  ['sessions end erin 1', '/users/NAME/sessions'],
  ['audit export', '/audit'],
])('ops %s says in one sentence what stands in its place', async (line, path) => {
  const { code, out, err } = await opsWith({})(line.split(' '))
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toMatch(/^There is no ops [^\n]*\n$/)
  expect(err).toContain(`keyhold api GET ${path}.`)
})

it.each(['KEYHOLD_ADMIN_USER', 'KEYHOLD_ADMIN_PASSWORD', 'KEYHOLD_ADMIN_CODE'])(
  'refuses the former %s',
  async (name) => {
    const { code, out, err } = await opsWith({ [name]: 'x' })(['keys', 'status'])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(new RegExp(`${name}: must be unset: keyhold login and keyhold api`))
  },
)

it.each(leaves(program).map(({ path }) => path.join(' ')))(
  'ops %s explains itself, with examples that can be run',
  async (name) => {
    const { code, out, err } = await opsWith({})([...name.split(' '), '--help'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const examples = [...out.matchAll(/^ {2}npm run ops -- (.*)$/gm)].map(([, line = '']) => line)
    expect(examples.length).toBeGreaterThan(0)
    for (const example of examples) {
      expect(example.startsWith(`${name} `) || example === name, example).toBe(true)
      const words = [...example.replace(/ <.*/, '').matchAll(/"([^"]*)"|(\S+)/g)].map(
        ([word, quoted]) => quoted ?? word,
      )
      // Everything is known and complete: what is missing is only a file or a database.
      const ran = await opsWith({ DATA_DIR: '/nowhere', KEYS_DIR: '/nowhere', AUTH_URL: 'http://127.0.0.1:9' })(words)
      expect(ran.err, example).not.toMatch(/^error: |Usage: /)
    }
  },
)
