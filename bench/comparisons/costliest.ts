import { costlyRequests } from '../../test/support/clients/costly-requests.ts'
import type { Comparison } from '../runner/compare.ts'
import { type Bench, overHttp } from '../servers/bench.ts'
import { request } from '../servers/requests.ts'

/** The most expensive known requests of each scheme that need no valid credential, and the status of their refusal. */
const costliest: Readonly<Record<string, string>> = {
  '29 encoded parameters of a signature among thousands': '401',
  'signed parameters by the thousand': '401',
  'a long user name of Digest': '401',
  'Digest parameters': '401',
  'a JWT with a header of many members': '401',
  'a long key-signed token': '401',
  'session cookies by the hundred': '400',
}

/** Compares the refusal of these requests with the refusal of a request without a credential. */
export async function measureCostliest(bench: Bench): Promise<Comparison> {
  const path = '/rest/v1/deals'
  const { deal: server } = bench.keyhold
  const subject = (name: string, text: string, expected: string) =>
    overHttp(bench, { name, server, requestsOf: () => [text], expected })
  const targets = costlyRequests().filter(({ server, target }) => server === 'deal' && target === path)
  const requests = targets.flatMap((target) => target.requests).filter(({ name }) => name in costliest)
  return {
    title: `The most expensive refused requests, by ${bench.settings.clients} connections`,
    unit: 'responses',
    floors: [subject('no credential', request(`GET ${path}`, { token: undefined }), '401')],
    subjects: requests.map(({ name, bytes }) =>
      subject(name, bytes.replace('connection: close\r\n', ''), costliest[name] ?? ''),
    ),
  }
}
