// The health check of a container: `ready PORT` exits with 0 when the server on that port is ready. It asks this container itself, so
// whose name stands in the certificate does not matter.
import { get as getByHttp } from 'node:http'
import { get as getByHttps } from 'node:https'

const port = process.argv[2]
const [scheme, get] = process.env.TLS_CERT ? ['https', getByHttps] : ['http', getByHttp]
get(`${scheme}://127.0.0.1:${port}/readyz`, { rejectUnauthorized: false, timeout: 2500 }, (answer) =>
  process.exit(answer.statusCode === 200 ? 0 : 1),
)
  .on('timeout', () => process.exit(1))
  .on('error', () => process.exit(1))
