import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { codeSpansIn, rowsIn } from '../../docs/markdown.ts'
import { createScratchDatabase } from '../../support/stores/scratch-database.ts'
import { hasProgram, read, root, run } from './tools.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyhold-systemd-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const source = join(root, 'deploy/systemd')
const units = readdirSync(source).filter((name) => /\.(?:service|timer)$/.test(name))
const services = units.filter((name) => name.endsWith('.service'))
const text = (name: string): string => readFileSync(join(source, name), 'utf8')

describe('the units of systemd', () => {
  it.skipIf(!hasProgram('systemd-analyze', false))('are valid, and leave a service little to do harm with', () => {
    for (const name of units) {
      const here = text(name).replaceAll('/opt/keyhold', root).replaceAll('/usr/bin/node', process.execPath)
      writeFileSync(join(folder, name), here)
    }
    const verified = run('systemd-analyze', ['verify', ...units.map((name) => join(folder, name))])
    expect(verified.output).not.toContain('keyhold')
    expect(verified.status).toBe(0)
    for (const name of services) {
      // The exposure, in tenths: 100 is a service without any protection.
      const parameters = ['security', '--offline=yes', '--threshold=20', join(folder, name)]
      const { status, output } = run('systemd-analyze', parameters)
      expect(status, output).toBe(0)
    }
  })

  it('name settings and files that exist', () => {
    const settings = new Set(rowsIn(read('docs/settings.md')).flatMap(([name = '']) => codeSpansIn(name)))
    for (const name of services) {
      const environment = /^Environment=(.*)$/m.exec(text(name))?.[1] ?? ''
      const names = environment.split(' ').flatMap((one) => one.split('=')[0] || [])
      expect(names.filter((one) => !settings.has(one) && one !== 'NODE_OPTIONS')).toEqual([])
    }
    const programs = services.flatMap(
      (name) => text(name).match(/(?:auth|deal)-server\/main(?=\.js)|docker\/\S+mjs/g) ?? [],
    )
    expect(programs.length).toBe(4)
    for (const path of programs) expect(statSync(join(root, path.replace(/main$/, 'main.ts'))).isFile()).toBe(true)
  })

  const linesOf = (name: string, setting: string): string[] =>
    [...text(name).matchAll(new RegExp(`^${setting}=(.*)$`, 'gm'))].flatMap(([, value = '']) => value.split(' '))
  /** The commands of docs/deploy.md that make users, and the files and folders of settings. */
  const installed = read('docs/deploy.md').slice(read('docs/deploy.md').indexOf('\n## systemd'))

  it('run each as a user of its own, which docs/deploy.md makes', () => {
    const users = Object.fromEntries(services.map((name) => [name, linesOf(name, 'User')]))
    expect(users).toEqual({
      'keyhold-auth.service': ['keyhold-auth'],
      'keyhold-backup.service': ['keyhold-backup'],
      'keyhold-deal@.service': ['keyhold-deal'],
    })
    for (const name of services) expect(linesOf(name, 'Group')).toEqual(users[name])
    expect(installed).toMatch(/^for NAME in auth deal backup; do\n {2}sudo useradd .* keyhold-\$NAME$/m)
  })

  it('leave settings to root: only the auth server, which has them in its environment, may read a file of them', () => {
    const made = [...installed.matchAll(/^sudo install (.*) \/dev\/null \/etc\/keyhold\/(\w+\.env)$/gm)]
    expect(Object.fromEntries(made.map(([, options, file]) => [file, options]))).toEqual({
      'auth.env': '-m 640 -g keyhold-auth',
      'backup.env': '-m 600',
      'deal.env': '-m 600',
    })
    expect(
      services.flatMap((name) => linesOf(name, 'EnvironmentFile').map((file) => `${name} ${file}`)).sort(),
    ).toEqual([
      'keyhold-auth.service /etc/keyhold/auth.env',
      'keyhold-backup.service /etc/keyhold/auth.env',
      'keyhold-backup.service /etc/keyhold/backup.env',
      'keyhold-deal@.service /etc/keyhold/deal.env',
    ])
  })

  it('hide keys, backups and settings from deal servers, and backups from the auth server', () => {
    expect(linesOf('keyhold-deal@.service', 'InaccessiblePaths')).toEqual(['-/etc/keyhold', '-/var/lib/keyhold'])
    expect(linesOf('keyhold-deal@.service', 'StateDirectory')).toEqual([])
    expect(linesOf('keyhold-auth.service', 'InaccessiblePaths')).toEqual(['-/var/lib/keyhold/backups'])
    for (const name of ['keyhold-auth.service', 'keyhold-backup.service']) {
      expect(linesOf(name, 'StateDirectory').length).toBeGreaterThan(0)
      expect(linesOf(name, 'StateDirectoryMode')).toEqual(['0700'])
    }
  })

  it.skipIf(process.getuid?.() !== 0)('copy the keys for the backup, whose user cannot read them', () => {
    const [keys, copy] = ['keys-of-auth', 'copy'].map((name) => join(folder, name)) as [string, string]
    const [auth, backup] = [61_001, 61_002]
    chmodSync(folder, 0o711)
    for (const [path, user] of [
      [keys, auth],
      [copy, backup],
    ] as const) {
      mkdirSync(path, { mode: 0o700 })
      chownSync(path, user, user)
    }
    writeFileSync(join(keys, 'one.pem'), 'a key', { mode: 0o600 })
    chownSync(join(keys, 'one.pem'), auth, auth)
    const [, script = ''] =
      /^ExecStartPre=\+\/bin\/bash -o pipefail -c '(.*)'$/m.exec(text('keyhold-backup.service')) ?? []
    const own = script.replaceAll('=keyhold-auth', `=${auth}`).replaceAll('=keyhold-backup', `=${backup}`)
    const copied = run('bash', ['-o', 'pipefail', '-c', own], { KEYS_DIR: keys, RUNTIME_DIRECTORY: copy })
    expect(copied.status, copied.output).toBe(0)
    expect(readFileSync(join(copy, 'one.pem'), 'utf8')).toBe('a key')
    const { mode, uid } = statSync(join(copy, 'one.pem'))
    expect([mode & 0o777, uid]).toEqual([0o600, backup])
    chownSync(keys, backup, backup)
    expect(run('bash', ['-o', 'pipefail', '-c', own], { KEYS_DIR: keys, RUNTIME_DIRECTORY: copy }).status).not.toBe(0)
  })

  it('let servers lower the priority of hashing, which they do at their start', () => {
    for (const name of services.filter((one) => one !== 'keyhold-backup.service')) {
      const filters = [...text(name).matchAll(/^SystemCallFilter=(.*)$/gm)].map(([, filter]) => filter)
      expect(filters.indexOf('setpriority')).toBeGreaterThan(filters.indexOf('~@privileged @resources'))
    }
  })

  it('wait longer than a server takes to stop', () => {
    for (const name of services.filter((one) => one !== 'keyhold-backup.service')) {
      const drain = Number(/DRAIN_SECONDS=(\d+)/.exec(text(name))?.[1])
      // The server itself waits ten seconds for requests under way (docs/contract/operators.md#listeners).
      expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text(name))?.[1])).toBeGreaterThan(drain + 10)
    }
  })
})

const databaseUrl = process.env.TEST_DATABASE_URL
const canBackUp = databaseUrl !== undefined && hasProgram('pg_dump', false) && hasProgram('openssl', false)

describe.skipIf(!canBackUp)('the backup', () => {
  const script = join(source, 'keyhold-backup.sh')
  const backups = join(folder, 'backups')
  const keys = join(folder, 'keys')
  const back = (environment: Readonly<Record<string, string>>) =>
    run('bash', [script], {
      KEYS_DIR: keys,
      SECRETS_KEY: 'the key',
      SERVICE_SECRET: 'the secret',
      BACKUP_DIR: backups,
      ...environment,
    })
  const files = (target: string) => readdirSync(target).sort()
  const targetOf = (output: string) => /^Backup: (.*)$/m.exec(output)?.[1] ?? ''

  it('keeps dumps that PostgreSQL reads, keys and secrets for their owner alone, encrypts, and removes old ones', async () => {
    const scratch = await createScratchDatabase(databaseUrl ?? '')
    try {
      mkdirSync(keys, { mode: 0o700 })
      writeFileSync(join(keys, 'one.pem'), 'a key', { mode: 0o600 })
      const urls = { AUTH_DATABASE_URL: `${scratch.url}?pgbouncer=true`, DEAL_DATABASE_URL: scratch.url }
      const plain = back(urls)
      expect(plain.status, plain.output).toBe(0)
      const target = targetOf(plain.output)
      expect(files(target)).toEqual(['auth.dump', 'deals.dump', 'keys.tar.gz', 'secrets.env'])
      for (const name of files(target)) expect(statSync(join(target, name)).mode & 0o777).toBe(0o600)
      expect(readFileSync(join(target, 'secrets.env'), 'utf8')).toBe('SECRETS_KEY=the key\nSERVICE_SECRET=the secret\n')
      expect(run('pg_restore', ['--list', join(target, 'auth.dump')]).status).toBe(0)

      const old = join(backups, '2020-01-01T00-00-00Z')
      mkdirSync(old)
      copyFileSync(join(target, 'secrets.env'), join(old, 'secrets.env'))
      utimesSync(old, new Date(2020, 0, 1), new Date(2020, 0, 1))
      const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
      const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=backup', '-keyout', key]
      execFileSync('openssl', [...made, '-out', certificate], { stdio: 'ignore' })
      rmSync(target, { recursive: true })
      const encrypted = back({ ...urls, BACKUP_CERTIFICATE: certificate })
      expect(encrypted.status, encrypted.output).toBe(0)
      const second = targetOf(encrypted.output)
      expect(files(second)).toEqual(['auth.dump.cms', 'deals.dump.cms', 'keys.tar.gz.cms', 'secrets.env.cms'])
      const read = [
        'cms',
        '-decrypt',
        '-binary',
        '-inform',
        'DER',
        '-inkey',
        key,
        '-in',
        join(second, 'secrets.env.cms'),
      ]
      expect(run('openssl', read).stdout).toContain('SECRETS_KEY=the key')
      expect(files(backups)).toEqual([second.slice(backups.length + 1)])

      const failed = back({ ...urls, DEAL_DATABASE_URL: 'postgres://nobody:pass%2Fword@127.0.0.1:1/none' })
      expect(failed.status).not.toBe(0)
      expect(failed.output).not.toContain('word')
      expect(files(backups)).toHaveLength(1)
    } finally {
      await scratch.drop()
    }
  })
})
