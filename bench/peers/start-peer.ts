import { join } from 'node:path'
import type { Bench } from '../servers/bench.ts'
import { type Running, startServer } from '../servers/processes.ts'

/** Starts the service in `file` of this folder. Its first argument is the port. */
export async function startPeer(
  { environment, closeLater }: Bench,
  file: string,
  ...words: readonly string[]
): Promise<Running> {
  const port = await environment.newPort()
  const command = [join(import.meta.dirname, file), String(port), ...words]
  const peer = await startServer({ command, port, variables: { NODE_ENV: 'production' } })
  closeLater(peer.stop)
  return peer
}
