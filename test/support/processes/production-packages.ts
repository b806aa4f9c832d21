/** What is in the image beside the built servers. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../../..')

/** What `npm ci --omit=dev` installs, without what the Dockerfile then removes: paths in node_modules. */
export function productionPackages(): string[] {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>
  }
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')
  const removed = /rm -r ((?:node_modules\/\S+ ?)+)/.exec(dockerfile)?.[1]?.trim().split(' ') ?? []
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && !dev && !removed.some((folder) => `${path}/`.startsWith(`${folder}/`)))
    .map(([path]) => path.slice('node_modules/'.length))
}
