import { once } from 'node:events'
import { createServer } from 'node:net'
import { OperatorError } from '../../operator-error.ts'
import { listenOn } from './listen.ts'

/**
 * Checks the ports of a process before it does anything else: a start that cannot listen leaves no trace. `ports` are
 * by the name of their setting; undefined when they are not used.
 * @throws OperatorError that names the setting of the first port on which the system refuses to listen
 */
export async function requireFreePorts(host: string, ports: Readonly<Record<string, number | undefined>>) {
  for (const [variable, port] of Object.entries(ports)) {
    if (port !== undefined) await requireFreePort(variable, { host, port })
  }
}

async function requireFreePort(variable: string, place: { readonly host: string; readonly port: number }) {
  const probe = createServer()
  try {
    await listenOn(probe, place)
  } catch (cause) {
    if (!(cause instanceof OperatorError)) throw cause
    const setting = isNoAddressOfOurs(cause.cause) ? 'HOST' : variable
    throw new OperatorError(`${setting}: ${cause.message}`, { cause })
  }
  await once(probe.close(), 'close')
}

const isNoAddressOfOurs = (error: unknown): boolean =>
  ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'].includes(String((error as NodeJS.ErrnoException | undefined)?.code))
