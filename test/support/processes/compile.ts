/**
 * Runs before all tests: compiles the servers, their tools and the programs of tests, as `npm start` does, and migrates
 * the embedded engine. What has not changed since the last run is not done again.
 */
import type { TestProject } from 'vitest/node'
import { compiledFolder } from '../../../scripts/compiled.mjs'
import { prepareMigratedEngine } from '../stores/migrated-engine.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder with the compiled files, which lie in it as in the project. */
    readonly compiled: string
  }
}

/** Files that tests run or import in a process of its own, besides the programs of the project. */
const further = [
  'test/support/processes/listening-child.ts',
  'test/support/processes/operators/operator-process.ts',
  'test/shared/platform/process/folder-lock-contender.ts',
  'test/shared/platform/embedded/embedded-writer.ts',
  'shared/platform/log/log.ts',
  'shared/platform/process/process.ts',
  'shared/platform/crypto/argon2-threads.ts',
]

/** What Vitest calls. */
export default async function setup(project: TestProject): Promise<void> {
  const furtherFolders = ['test/support/processes', 'test/shared/platform/embedded']
  const [folder] = await Promise.all([compiledFolder({ further, furtherFolders }), prepareMigratedEngine()])
  project.provide('compiled', folder)
}
