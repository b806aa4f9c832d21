import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * The folder of the project, or of the build that runs: files beside the code have the same paths in both. It is the
 * first one upwards with a `package.json`, because code of several folders is in one compiled file.
 */
export const projectFolder = above(import.meta.dirname)

function above(folder: string): string {
  return existsSync(join(folder, 'package.json')) || dirname(folder) === folder ? folder : above(dirname(folder))
}

let version: string | undefined

/** The version of the project, by its `package.json`. */
export function projectVersion(): string {
  version ??= (JSON.parse(readFileSync(join(projectFolder, 'package.json'), 'utf8')) as { version: string }).version
  return version
}
