import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { Following } from '../../../verify/src/verifier/following.ts'
import { readVerifierSettings } from '../../../verify/src/verifier/settings.ts'

it('a service that an auth server does not answer asks again after a pause, which doubles', async () => {
  let asked = 0
  const server = createServer((_, response) => {
    asked += 1
    response.writeHead(503).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const following = new Following(
    readVerifierSettings({
      authServer: `http://127.0.0.1:${port}`,
      service: { id: '01900000-0000-7000-8000-000000000000', secret: 'x'.repeat(43) },
      audience: 'urn:example:invoices',
    }),
  )
  following.start()
  await sleep(1_000)
  await following.stop()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  // At once, and after 200 and 600 ms.
  expect(asked).toBeGreaterThan(0)
  expect(asked).toBeLessThanOrEqual(3)
})
