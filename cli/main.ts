/** The process of the command line for callers: `npx keyhold <group> <command>`. */
import { readCallerConfig } from './context/config.ts'
import { runKeyhold } from './program.ts'

const { stdin: input, stdout: output, stderr: errors } = process
process.exitCode = await runKeyhold(process.argv.slice(2), readCallerConfig(), { input, output, errors })
