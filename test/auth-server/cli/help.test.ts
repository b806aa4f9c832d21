import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { createProgram } from '../../../auth-server/cli/program.ts'
import { readOperatorConfig } from '../../../auth-server/config.ts'
import { projectVersion } from '../../../shared/platform/project-folder.ts'
import { opsWith } from '../../support/processes/operators/ops.ts'

const { stdin: input, stdout: output, stderr: errors } = process
const { program } = await createProgram(readOperatorConfig({}).config, { input, output, errors })

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
    users: [
      'add',
      'list',
      'show',
      'roles',
      'rights',
      'enable',
      'disable',
      'unlock',
      'logout',
      'password',
      'reset-second-factors',
      'password-reset',
      'recover-admin',
    ],
    'api-keys': ['add', 'list', 'rotate', 'revoke'],
    services: ['add', 'list', 'rotate', 'remove'],
    sessions: ['list', 'end'],
    audit: ['tail', 'verify', 'export', 'drop'],
    secrets: ['generate', 'reencrypt'],
    deals: ['check'],
  })
})

it('says its version', async () => {
  const { code, out, err } = await opsWith({})(['--version'])
  expect({ code, out, err }).toEqual({ code: 0, out: `${projectVersion()}\n`, err: '' })
})

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
      // Everything is known and complete: what is missing is only somebody who logs in, or a file or database.
      const ran = await opsWith({ DATA_DIR: '/nowhere', KEYS_DIR: '/nowhere', AUTH_URL: 'http://127.0.0.1:9' })(words)
      expect(ran.err, example).not.toMatch(/^error: |Usage: /)
    }
  },
)
