/** Which test files a run needs: told by the texts of the files and of those that they import. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const importedFile = /(?:from |import |import\()'(\.[^']+)'/g

/** How a suite says that it runs over services, or where they are. */
const overServices =
  /\b(?:describeBackends|describeOnce|describePostgresAndRedis|describeOnDatabases|describeEmptyDatabases|TEST_DATABASE_URL|TEST_REDIS_URL)\b/

/** Define the words above, and so mention them. */
const definitions = [
  'test/support/stores/backends.ts',
  'test/support/stores/empty-databases.ts',
  'test/auth-server/support/auth-database.ts',
]

/** Test files in which nothing, nor in what they import, runs over services: paths below `root`, relative to it. */
export function testFilesWithoutServices(root: string): string[] {
  const known = new Map<string, boolean>(definitions.map((name) => [join(root, name), false]))
  const runsOverServices = (file: string): boolean => {
    const answer = known.get(file)
    if (answer !== undefined) return answer
    // Until it is known: imports may go round in circles.
    known.set(file, false)
    const text = readFileSync(file, 'utf8')
    const named = [...text.matchAll(importedFile)].map(([, path = '']) => resolve(dirname(file), path))
    // What looks like an import may be a text in a test.
    const imported = named.filter((path) => path.endsWith('.ts') && existsSync(path))
    const runs = overServices.test(text) || imported.some(runsOverServices)
    known.set(file, runs)
    return runs
  }
  return testFiles(root).filter((file) => !runsOverServices(join(root, file)))
}

/**
 * Test files without a campaign (`test/support/campaign.ts`), and that run no shared suite: paths below `root`,
 * relative to it.
 */
export const testFilesWithoutCampaign = (root: string): string[] =>
  testFiles(root).filter((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return !/\/(?:campaign|[\w-]+\.conformance)\.ts'/.test(text)
  })

const testFiles = (root: string): string[] =>
  readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => relative(root, join(root, 'test', name)))
