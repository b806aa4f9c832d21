/**
 * Runs before each file of tests: the secrets of the file before are of no interest, and to look for them would take
 * ever longer.
 */
import { forgetSecrets } from './clients/http-client.ts'

forgetSecrets()
