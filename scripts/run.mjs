// Runs a program of the project: `run.mjs start.ts [parameter]…`. Installs the dependencies when they are missing, and
// compiles the program when a file of the project has changed.
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { compiledFolder } from './compiled.mjs'
import { ensureInstalled } from './ensure-installed.mjs'

// From the first moment: Node.js would open its debugger beside the keys.
process.on('SIGUSR1', () => undefined)
ensureInstalled({ withTools: false })

const [program = '', ...parameters] = process.argv.slice(2)
const file = await compiledFile()
process.argv.splice(1, Number.POSITIVE_INFINITY, file, ...parameters)
await import(pathToFileURL(file).href)

/** The compiled file. Where the cache cannot be written, the source itself, which is then compiled at each start. */
async function compiledFile() {
  try {
    const onCompile = () => console.error('Compiling …')
    return join(await compiledFolder({ onCompile }), program.replace(/\.ts$/, '.js'))
  } catch (error) {
    if (!['EROFS', 'EACCES', 'EPERM'].includes(error.code)) throw error
    const { register } = await import('tsx/esm/api')
    register()
    return fileURLToPath(new URL(`../${program}`, import.meta.url))
  }
}
