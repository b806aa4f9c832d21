// Takes traces, by OTLP over HTTP, and forgets them. `node collector.mjs PORT`
import { createServer } from 'node:http'

createServer((request, response) => {
  request.resume()
  request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
}).listen(Number(process.argv[2]), '127.0.0.1')
