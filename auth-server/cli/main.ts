/** The process of the operators' tool: `npm run ops -- <group> <command>`. */
import { refuseDebugger } from '../../shared/platform/process/process.ts'
import { readOperatorConfig } from '../config.ts'
import { runCli } from './program.ts'

refuseDebugger()
const { stdout: output, stderr: errors } = process
process.exitCode = await runCli(process.argv.slice(2), readOperatorConfig(), { output, errors })
