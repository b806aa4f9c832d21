import { startRelay } from '../support/processes/proxies/relay.ts'

/** A TCP relay that loses answers. */
export interface LossyProxy {
  readonly url: string
  /** Cuts the connection on which the next request with this text goes, when its answer comes. */
  loseAnswerTo(text: string): void
  /** How many answers were lost. */
  lost(): number
  close(): Promise<void>
}

/** Starts a relay to `targetPort` on the loopback interface. The request whose answer is lost has been carried out. */
export async function startLossyProxy(targetPort: number): Promise<LossyProxy> {
  let wanted: string | undefined
  let isNext = false
  let lost = 0
  const { port, close } = await startRelay(targetPort, {
    fromClient: (data, server) => {
      if (wanted !== undefined && data.includes(wanted)) {
        wanted = undefined
        isNext = true
      }
      server.write(data)
    },
    fromServer: (data, client) => {
      if (!isNext) return void client.write(data)
      isNext = false
      lost += 1
      client.destroy()
    },
  })
  return {
    url: `http://127.0.0.1:${port}`,
    loseAnswerTo: (text) => {
      wanted = text
    },
    lost: () => lost,
    close,
  }
}
