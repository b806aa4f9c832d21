import { randomBytes } from 'node:crypto'
import postgres from 'postgres'

export interface ScratchDatabase {
  readonly url: string
  /** Removes the database, whoever is still connected. */
  drop(): Promise<void>
}

/** Creates an empty database with a random name on the server of `url`, whose user may create databases. */
export const createScratchDatabase = async (url: string): Promise<ScratchDatabase> => {
  const name = `keyhold_test_${randomBytes(6).toString('hex')}`
  await administer(url, `create database ${name}`)
  const own = new URL(url)
  own.pathname = `/${name}`
  return { url: own.href, drop: () => administer(url, `drop database if exists ${name} with (force)`) }
}

const administer = async (url: string, command: string): Promise<void> => {
  const plain = new URL(url)
  // A parameter of ours (`postgres-url.ts`), which the driver would send on.
  plain.searchParams.delete('pgbouncer')
  const client = postgres(plain.href, { max: 1, onnotice: () => {} })
  try {
    await client.unsafe(command)
  } finally {
    await client.end()
  }
}
