import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requireFreePorts } from '../../../../../shared/platform/http/server/free-ports.ts'
import { freePort } from '../../../../support/processes/free-port.ts'

describe('the check of ports before a start', () => {
  const other = createServer()
  let taken: number
  beforeAll(async () => {
    await once(other.listen(0, '127.0.0.1'), 'listening')
    taken = (other.address() as AddressInfo).port
  })
  afterAll(() => other.close())

  it('leaves free ports free, and passes over those that are not used', async () => {
    const port = await freePort()
    const ports = { A_PORT: port, B_PORT: 0, C_PORT: undefined }
    await requireFreePorts('127.0.0.1', ports)
    await requireFreePorts('127.0.0.1', ports)
  })

  it('names the setting of a port that is taken', async () => {
    const check = requireFreePorts('127.0.0.1', { A_PORT: await freePort(), B_PORT: taken })
    await expect(check).rejects.toMatchObject({
      name: 'OperatorError',
      exitCode: 2,
      message: `B_PORT: Cannot listen on 127.0.0.1:${taken}: listen EADDRINUSE: address already in use 127.0.0.1:${taken}`,
    })
  })

  it('names HOST when it is no address of this machine', async () => {
    await expect(requireFreePorts('192.0.2.1', { A_PORT: await freePort() })).rejects.toThrow(
      /^HOST: Cannot listen on 192\.0\.2\.1:\d+: /,
    )
  })
})
