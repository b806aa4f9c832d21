import { expect, it } from 'vitest'
import { isLoopbackHost } from '../../../shared/platform/loopback.ts'

const own = ['localhost', 'LocalHost', '127.0.0.1', '127.9.9.9', '127.1', '::1', '[::1]', '0:0:0:0:0:0:0:1', '[::0001]']
const mapped = ['::ffff:127.0.0.1', '[::FFFF:7f00:1]', '::1%lo']
const others = ['', 'localhost.test', '127.0.0.1.nip.io', '128.0.0.1', '0.0.0.0', '::', '::2', '::7f00:1', '[::1']

it.each([...own, ...mapped])('%j is this machine alone', (host) => expect(isLoopbackHost(host)).toBe(true))

it.each([...others, '::ffff:192.0.2.1'])('%j is not', (host) => expect(isLoopbackHost(host)).toBe(false))
