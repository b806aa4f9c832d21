/**
 * The functions of both schemas have a file each, `store/functions/<name>.sql`, with their present text. A migration
 * gets its text from there (`npm run migrations`), and a test compares the two.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Texts of functions by their names. */
export type SqlFunctions = ReadonlyMap<string, string>

/** A comment above a definition, the definition itself, or the end of a function. */
const steps =
  /((?:^-- .*\n)*)^CREATE (?:OR REPLACE )?(FUNCTION "\w+"\."(\w+)"[\s\S]*?\$\$[\s\S]*?\$\$;)|^DROP FUNCTION (?:IF EXISTS )?"\w+"\."(\w+)"/gm

/** The functions that the migrations of this store leave. */
export function migratedFunctions(store: string): SqlFunctions {
  const left = new Map<string, string>()
  for (const text of textsIn(join(store, 'migrations')).values()) {
    for (const [, comment = '', definition = '', defined, dropped] of text.matchAll(steps)) {
      if (defined) left.set(defined, `${comment}CREATE OR REPLACE ${definition}\n`)
      if (dropped) left.delete(dropped)
    }
  }
  return left
}

/** The functions in the files of this store. */
export const functionFiles = (store: string): SqlFunctions => textsIn(join(store, 'functions'))

const textsIn = (folder: string): SqlFunctions =>
  new Map(
    readdirSync(folder)
      .filter((name) => name.endsWith('.sql'))
      .sort()
      .map((name) => [name.slice(0, -'.sql'.length), readFileSync(join(folder, name), 'utf8')]),
  )
