// The compiled form of the project's files as they are now: made when a file has changed, else the one that is there.
// The folder of one form is never written again, so a process that runs keeps its files, and processes that start
// together do not disturb each other.
import { createHash, randomUUID } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const cache = join(root, 'node_modules/.cache/keyhold')
const dayMs = 86_400_000
const folders = ['auth-server', 'deal-server', 'console', 'shared', 'verify/src', 'cli', 'client/src']
const files = ['start.ts', 'package.json', 'package-lock.json', 'scripts/compile.mjs']

/**
 * The folder in which `a/b.js` is the compiled form of `a/b.ts`. Also compiles the `further` files, if any; what they
 * import is below the folders `furtherFolders`.
 * @param {{ further?: readonly string[], furtherFolders?: readonly string[], onCompile?: () => void }} options
 * @throws Error when the cache cannot be written
 */
export async function compiledFolder({ further = [], furtherFolders = [], onCompile = () => undefined } = {}) {
  const folder = join(cache, `compiled-${fingerprint([...folders, ...furtherFolders], further)}`)
  if (!existsSync(folder)) {
    onCompile()
    await makeFolder(folder, further)
  }
  markAsUsed(folder)
  return folder
}

/** Packages that a server loads from days after its start: the machine code of its threads, the files of `/docs`. */
const loadedLater = ['@node-rs', 'swagger-ui-dist']
const isNeedless = /\.map$|-es-bundle/
/** Packages outside the compiled form that are loaded at a start and never again. */
const loadedAtOnce = ['@electric-sql', 'pino-pretty']

/**
 * A copy of a compiled form below `dataDir`, for a server that runs from it: `npm ci` and `npm test` beside it may
 * remove all of node_modules. @throws Error when it cannot be written
 */
export function ownPrograms(compiled, dataDir) {
  const folder = join(resolve(dataDir), 'programs', basename(compiled))
  if (!existsSync(folder)) {
    const unfinished = `${folder}.${randomUUID()}`
    const [from, to] = [join(root, 'node_modules'), join(unfinished, 'node_modules')]
    mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })
    try {
      const marks = join(compiled, 'users')
      cpSync(compiled, unfinished, { recursive: true, filter: (path) => path !== marks })
      mkdirSync(to)
      for (const name of loadedLater.filter((each) => existsSync(join(from, each)))) {
        cpSync(join(from, name), join(to, name), { recursive: true, filter: (path) => !isNeedless.test(path) })
      }
      for (const name of loadedAtOnce) symlinkSync(join(from, name), join(to, name))
      renameSync(unfinished, folder)
    } catch (error) {
      rmSync(unfinished, { recursive: true, force: true })
      if (!existsSync(folder)) throw error
    }
  }
  markAsUsed(folder)
  removeUnused(dirname(folder))
  return folder
}

/** What is to be compiled, in short. */
function fingerprint(sources, further) {
  const below = (folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && basename(entry.parentPath) !== 'generated')
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
  const hash = createHash('sha256').update(further.join('\n'))
  for (const file of [...sources.flatMap(below), ...files.map((name) => join(root, name))]) {
    hash.update(`${file}\n`).update(readFileSync(file))
  }
  return hash.digest('hex').slice(0, 16)
}

/** Compiles into a folder with another name first: another process may do the same. */
async function makeFolder(folder, further) {
  const { compile, programs } = await import('./compile.mjs')
  const unfinished = `${folder}.${randomUUID()}`
  mkdirSync(unfinished, { recursive: true })
  try {
    await compile(unfinished, [...programs, ...further])
    renameSync(unfinished, folder)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
  removeUnused(cache)
}

/** A server may load parts of its code days after its start. */
function markAsUsed(folder) {
  const mark = join(folder, 'users', String(process.pid))
  try {
    mkdirSync(dirname(mark), { recursive: true })
    writeFileSync(mark, '')
    utimesSync(folder, new Date(), new Date())
  } catch {
    // What cannot be written cannot be removed either.
  }
  process.on('exit', () => rmSync(mark, { force: true }))
}

/** Other processes may rename or remove the same folders at any time. */
function removeUnused(all) {
  for (const name of readdirSync(all).filter((name) => name.startsWith('compiled-'))) {
    const folder = join(all, name)
    const found = statSync(folder, { throwIfNoEntry: false })
    if (found && found.mtimeMs < Date.now() - dayMs && !hasUser(folder)) {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

function hasUser(folder) {
  try {
    return readdirSync(join(folder, 'users')).some((pid) => isRunning(Number(pid)))
  } catch {
    return false
  }
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}
