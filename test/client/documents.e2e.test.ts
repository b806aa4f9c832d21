/** The documents that the types of the client and the paths of the command line come from. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { digestOf, readDocuments } from '../../scripts/client-types/documents.ts'
import { openEmbedded } from '../support/stores/backends.ts'
import { openStack } from '../support/worlds/stack.ts'

const file = join(import.meta.dirname, '../../client/documents.json')

const pathsFile = join(import.meta.dirname, '../../cli/api/paths.json')

type Documents = Awaited<ReturnType<typeof readDocuments>>

/** The methods of each path. */
const pathsOf = ({ paths }: Documents['auth']) =>
  Object.fromEntries(
    Object.entries(paths as Readonly<Record<string, object>>).map(([path, operations]) => [
      path,
      Object.keys(operations)
        .filter((name) => /^(get|post|put|patch|delete)$/.test(name))
        .join(' ')
        .toUpperCase(),
    ]),
  )

// `npx vitest run test/client/documents.e2e.test.ts --update` writes both files again.
it('are those of servers that run, and a change of one is a change of their digests in the repository', async () => {
  const { auth, deal } = await readDocuments()
  const digests = { auth: digestOf(auth), deal: digestOf(deal) }
  await expect(`${JSON.stringify(digests, null, 2)}\n`).toMatchFileSnapshot(file)
  const paths = { auth: pathsOf(auth), deal: pathsOf(deal) }
  await expect(`${JSON.stringify(paths, null, 2)}\n`).toMatchFileSnapshot(pathsFile)
  const stack = await openStack(openEmbedded)
  try {
    const served = async (name: 'auth' | 'deal') => digestOf(JSON.parse((await stack[name].send('/openapi.json')).text))
    expect({ auth: await served('auth'), deal: await served('deal') }).toEqual(digests)
  } finally {
    await stack.close()
  }
})
