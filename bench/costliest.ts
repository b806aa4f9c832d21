import { costlyRequests } from '../test/support/clients/costly-requests.ts'
import { type Bench, cyclesFor, httpTurn } from './bench.ts'
import type { Comparison, Subject } from './compare.ts'
import { request } from './requests.ts'

/** Of each scheme the costliest known request that nobody has to prove anything for, and the status that it is refused with. */
const costliest: Readonly<Record<string, string>> = {
  '29 encoded parameters of a signature among thousands': '401',
  'signed parameters by the thousand': '401',
  'a long user name of Digest': '401',
  'Digest parameters': '401',
  'a JWT with a header of many members': '401',
  'a long key-signed token': '401',
  'session cookies by the hundred': '400',
}

/** What the refusal of such a request costs, against that of one without a credential. */
export async function measureCostliest(bench: Bench): Promise<Comparison> {
  const path = '/rest/v1/deals'
  const subject = (name: string, text: string, expected: string): Subject => {
    const cycles = cyclesFor(bench.clients, bench.servers.port, () => [text])
    return { name, turn: (seconds) => httpTurn(bench, { cycles, expected }, seconds) }
  }
  const targets = costlyRequests().filter(({ server, target }) => server === 'deal' && target === path)
  const requests = targets.flatMap((target) => target.requests).filter(({ name }) => name in costliest)
  return {
    title: 'The costliest requests that are refused, by 32 callers',
    unit: 'answers',
    floor: subject('no credential', request(`GET ${path}`, { token: undefined }), '401'),
    subjects: requests.map(({ name, bytes }) =>
      subject(name, bytes.replace('connection: close\r\n', ''), costliest[name] ?? ''),
    ),
  }
}
