/** The proxies of `deploy/forward-auth`, each with its shipped configuration, in front of a service. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'

/** What the proxy stands between. */
export interface Between {
  readonly authPort: number
  readonly servicePort: number
  /** The rest of the question, such as `right=deal.read`. */
  readonly question: string
}

/** A proxy that runs. */
export interface RunningProxy {
  readonly port: number
  /** What it wrote. */
  output(): string
  close(): Promise<void>
}

interface Proxy {
  readonly name: 'nginx' | 'haproxy' | 'caddy'
  /** Writes what it reads into a folder of its own. Answers its arguments and its environment. */
  prepare(
    folder: string,
    port: number,
    between: Between,
  ): { readonly parameters: readonly string[]; readonly environment?: Readonly<Record<string, string>> }
}

const shipped = join(import.meta.dirname, '../../../../deploy/forward-auth')

/** @throws Error for a text that is not there exactly once */
function replaced(text: string, pairs: readonly (readonly [string, string])[]): string {
  return pairs.reduce((changed, [from, to]) => {
    const parts = changed.split(from)
    if (parts.length !== 2) throw new Error(`${from} is there ${parts.length - 1} times`)
    return parts.join(to)
  }, text)
}

const nginx: Proxy = {
  name: 'nginx',
  prepare: (folder, port, { authPort, servicePort, question }) => {
    const service = replaced(readFileSync(join(shipped, 'nginx.conf'), 'utf8'), [
      ['server 127.0.0.1:4000;', `server 127.0.0.1:${authPort};`],
      ['server 127.0.0.1:5000;', `server 127.0.0.1:${servicePort};`],
      ['listen 8080;', `listen 127.0.0.1:${port};`],
      ['set $keyhold_question "";', `set $keyhold_question "${question}";`],
    ])
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${join(folder, name)};`)
      .join('\n')
    const main = `daemon off; pid ${join(folder, 'pid')}; error_log stderr warn;
      events {} http { access_log off; ${temporary}\n${service} }`
    writeFileSync(join(folder, 'nginx.conf'), main)
    return { parameters: ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')] }
  },
}

const haproxy: Proxy = {
  name: 'haproxy',
  prepare: (folder, port, { authPort, servicePort, question }) => {
    const text = readFileSync(join(shipped, 'haproxy.cfg'), 'utf8')
    const file = join(folder, 'haproxy.cfg')
    writeFileSync(file, replaced(text, [['str("")', `str("${question}")`]]))
    const environment = {
      KEYHOLD_VERIFY: `http://127.0.0.1:${authPort}/verify`,
      KEYHOLD_LUA: join(shipped, 'keyhold.lua'),
      SERVICE_BIND: `127.0.0.1:${port}`,
      SERVICE: `127.0.0.1:${servicePort}`,
    }
    return { parameters: ['-db', '-f', file], environment }
  },
}

const caddy: Proxy = {
  name: 'caddy',
  prepare: (folder, port, { authPort, servicePort, question }) => {
    const text = readFileSync(join(shipped, 'Caddyfile'), 'utf8')
    const file = join(folder, 'Caddyfile')
    const asked = question === '' ? [] : ([['Content-Length}', `Content-Length}&${question}`]] as const)
    writeFileSync(file, `{\nadmin off\n}\n${replaced(text, asked)}`)
    const environment = {
      SERVICE_SITE: `http://127.0.0.1:${port}`,
      KEYHOLD_AUTH: `127.0.0.1:${authPort}`,
      SERVICE: `127.0.0.1:${servicePort}`,
      HOME: folder,
      XDG_CONFIG_HOME: folder,
      XDG_DATA_HOME: folder,
    }
    return { parameters: ['run', '--adapter', 'caddyfile', '--config', file], environment }
  },
}

/** All of them that are tested. */
export const forwardAuthProxies: readonly Proxy[] = [nginx, haproxy, caddy]

/** Starts a proxy. It may not listen yet. */
export async function startProxy({ name, prepare }: Proxy, between: Between): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), `keyhold-${name}-`))
  mkdirSync(join(folder, 'logs'))
  const port = await freePort()
  const { parameters, environment = {} } = prepare(folder, port, between)
  const env = { PATH: `${process.env.PATH}:/usr/sbin`, ...environment }
  const child: ChildProcess = spawn(name, parameters, { env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (output += data))
  return {
    port,
    output: () => output,
    close: async () => {
      if (child.exitCode === null) {
        const ended = once(child, 'exit')
        // nginx ends its workers on SIGTERM alone.
        child.kill('SIGTERM')
        await ended
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
