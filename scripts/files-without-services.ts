/** Which tests cannot tell whether there are services: nothing in them, or in what they import, reads where those are. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const importedFile = /(?:from |import |import\()'(\.[^']+)'/g
const addressOfService = /TEST_(?:DATABASE|REDIS)_URL/

/** Paths of such test files below `root`, relative to it. */
export function testFilesWithoutServices(root: string): string[] {
  const known = new Map<string, boolean>()
  const readsAddress = (file: string): boolean => {
    const answer = known.get(file)
    if (answer !== undefined) return answer
    // Until it is known: imports may go round in circles.
    known.set(file, false)
    const text = readFileSync(file, 'utf8')
    const named = [...text.matchAll(importedFile)].map(([, path = '']) => resolve(dirname(file), path))
    // What looks like an import may be a text in a test.
    const imported = named.filter((path) => path.endsWith('.ts') && existsSync(path))
    const reads = addressOfService.test(text) || imported.some(readsAddress)
    known.set(file, reads)
    return reads
  }
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(root, 'test', name))
    .filter((file) => !readsAddress(file))
    .map((file) => relative(root, file))
}
