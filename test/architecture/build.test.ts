import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')

/** What the servers read beside their code: every file in their folders that is not compiled. */
const filesBesideCode = (): string[] =>
  ['auth-server', 'deal-server', 'shared'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith('.ts'))
      .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1)),
  )

it('copies what stands beside the code into the build', () => {
  const build = readFileSync(join(root, 'scripts/build.mjs'), 'utf8')
  const copied = [...build.matchAll(/'([\w-]+(?:\/[\w-]+)*\/)'/g)].map(([, folder = '']) => folder)
  const files = filesBesideCode()
  expect(files).toContain('shared/pages/assets/pages.css')
  expect(files.filter((file) => !copied.some((folder) => file.startsWith(folder)))).toEqual([])
})
