import { expect, it } from 'vitest'
import { clientPrefix } from '../../../../shared/platform/http/client-prefix.ts'

it.each([
  ['192.0.2.1', '192.0.2.1/32'],
  ['::ffff:192.0.2.1', '192.0.2.1/32'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
  ['::1', '::/64'],
  ['not an address', 'unknown'],
])('%s counts as %s', (address, prefix) => {
  expect(clientPrefix(address)).toBe(prefix)
})
