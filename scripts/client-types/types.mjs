// Writes the types of the client from the OpenAPI documents of the servers, unless those that are there come from the
// same documents. Their generator needs TypeScript 5, so it is installed in this folder, apart from the project.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureInstalled } from '../ensure-installed.mjs'
import { digestOf, readDocuments } from './documents.ts'

const folder = fileURLToPath(new URL('../../client/src/generated', import.meta.url))

for (const [name, document] of Object.entries(await readDocuments())) {
  const file = join(folder, `${name}.ts`)
  const origin = `// The types of an OpenAPI document with the digest ${digestOf(document)}.\n`
  if (existsSync(file) && readFileSync(file, 'utf8').startsWith(origin)) continue
  ensureInstalled({ withTools: true, folder: 'scripts/client-types/' })
  console.error(`Writing client/src/generated/${name}.ts …`)
  const { astToString, default: generate } = await import('openapi-typescript')
  const types = astToString(await generate(document))
  const draft = `${file}.${process.pid}`
  mkdirSync(folder, { recursive: true })
  writeFileSync(draft, origin + types)
  renameSync(draft, file)
}
