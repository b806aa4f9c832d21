/** A primary and its standby behind one address, which follows a promotion. */

import { startRelay } from '../proxies/relay.ts'
import { PostgresServer } from './postgres-server.ts'

/** One address over a primary with a standby. */
export interface PromotablePostgres {
  /** The address; it does not change. */
  readonly url: string
  /** The server that the address leads to. */
  readonly primary: PostgresServer
  /** From now on nothing that the primary writes reaches its standby: the next `promote` loses it. */
  cutStandbyOff(): Promise<void>
  /**
   * The standby becomes the primary behind the address: all connections are cut, and later ones lead there. The former
   * primary goes on running without clients. Without `cutStandbyOff` nothing that was written is lost.
   */
  promote(): Promise<void>
  /** Removes the former primary, and gives the present one a standby. */
  renewStandby(): Promise<void>
  remove(): Promise<void>
}

/** Starts both servers. `remove` must be called in the end. */
export async function startPromotablePostgres(binaries: string): Promise<PromotablePostgres> {
  let primary = await PostgresServer.create(binaries)
  let standby = await primary.makeStandby()
  let isCutOff = false
  const relay = await startRelay(() => primary.port, {
    fromClient: (data, peer) => void peer.write(data),
    fromServer: (data, peer) => void peer.write(data),
  })
  return {
    url: `postgres://postgres@127.0.0.1:${relay.port}/postgres`,
    get primary() {
      return primary
    },
    cutStandbyOff: async () => {
      await standby.catchUpWith(primary)
      await standby.cutOff()
      isCutOff = true
    },
    promote: async () => {
      // No client writes from here on: a primary that has failed, or is fenced.
      const former = primary
      primary = standby
      for (const socket of relay.sockets) socket.destroy()
      if (!isCutOff) await standby.catchUpWith(former)
      await standby.promote()
      standby = former
    },
    renewStandby: async () => {
      await standby.remove()
      standby = await primary.makeStandby()
      isCutOff = false
    },
    remove: async () => {
      await relay.close()
      await standby.remove()
      await primary.remove()
    },
  }
}
