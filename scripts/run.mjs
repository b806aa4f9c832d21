// Runs a program of the project: `run.mjs start.ts [parameter]…`. Installs the dependencies when they are missing, and
// compiles the program when a file of the project has changed.
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { compiledFolder, ownPrograms } from './compiled.mjs'
import { ensureInstalled } from './ensure-installed.mjs'

// From the first moment: Node.js would open its debugger beside the keys.
process.on('SIGUSR1', () => undefined)
ensureInstalled({ withTools: false })

const [program = '', ...parameters] = process.argv.slice(2)
const isServer = ['start.ts', 'auth-server/main.ts', 'deal-server/main.ts'].includes(program)
if (isServer) boundYoungGeneration()
const file = await compiledFile()
process.argv.splice(1, Number.POSITIVE_INFINITY, file, ...parameters)
await import(pathToFileURL(file).href)

/** The compiled file. Where the cache cannot be written, the source itself, which is then compiled at each start. */
async function compiledFile() {
  try {
    const onCompile = () => console.error('Compiling …')
    const compiled = await compiledFolder({ onCompile })
    return join(isServer ? ownFolder(compiled) : compiled, program.replace(/\.ts$/, '.js'))
  } catch (error) {
    if (!['EROFS', 'EACCES', 'EPERM'].includes(error.code)) throw error
    const { register } = await import('tsx/esm/api')
    register()
    return fileURLToPath(new URL(`../${program}`, import.meta.url))
  }
}

/** Below DATA_DIR; where nothing can be written there, the folder that all share. */
function ownFolder(compiled) {
  const dataDir = process.env.DATA_DIR?.trim() || './data'
  // The server refuses such a name.
  if (/["'`$\p{Cc}]/u.test(dataDir)) return compiled
  try {
    return ownPrograms(compiled, dataDir)
  } catch {
    return compiled
  }
}

/**
 * Begins again with the bound that the scripts in package.json set too (docs/operations.md), unless there is another
 * one. Node.js before 22.15 cannot.
 */
function boundYoungGeneration() {
  const option = '--max-semi-space-size'
  if ([...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((each) => each.includes(option))) return
  process.execve?.(process.execPath, [process.execPath, `${option}=8`, ...process.execArgv, ...process.argv.slice(1)])
}
