// The health check of a container: `ready PORT` exits with 0 when the server on that port is ready. It connects within
// the container, so the name in the certificate does not matter.
import { get as getByHttp } from 'node:http'
import { get as getByHttps } from 'node:https'

const port = process.argv[2]
const { HOST = '', TLS_CERT } = process.env
const host = ['', '0.0.0.0', '::'].includes(HOST) ? '127.0.0.1' : HOST
const [protocol, get] = TLS_CERT ? ['https:', getByHttps] : ['http:', getByHttp]
get({ protocol, host, port, path: '/readyz', rejectUnauthorized: false, timeout: 2500 }, (answer) =>
  process.exit(answer.statusCode === 200 ? 0 : 1),
)
  .on('timeout', () => process.exit(1))
  .on('error', () => process.exit(1))
