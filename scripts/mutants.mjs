// Changes one place of the source at a time, and sees whether the tests notice. Works in the folder that it is called
// in, which must be clean: use a worktree. Prints a line for each mutant, with the first test that noticed it.
// Usage: node scripts/mutants.mjs <number> [<first>]. The same number gives the same mutants.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

const [count = '60', first = '0'] = process.argv.slice(2)

/** What each kind of mutant looks for in a line, and puts in its place. */
const kinds = {
  'comparison turned': [/ (===|!==) /, (_, sign) => (sign === '===' ? ' !== ' : ' === ')],
  'bound off by one': [/ (<=|>=|<|>) (?=[\w.()]+)/, (_, sign) => ` ${sign.length === 2 ? sign[0] : `${sign}=`} `],
  'check left out': [/^(\s+)(?:await )?(?:require|refuse|demand|verify)\w*\(.*\)$/, '$1void 0'],
  'await left out': [/^(\s+)await (?=\w)/, '$1void '],
  'condition of SQL dropped': [/^(\s+)and (?:not )?\$\{[^}]+\}[^()`]*$/, '$1'],
  'condition turned': [/\bif \((?!!)([\w.?]+)\)/, 'if (!$1)'],
}

const filesOf = (...folders) =>
  execFileSync('git', ['ls-files', ...folders], { encoding: 'utf8' }).match(/.+\.tsx?$/gm) ?? []

const sources = filesOf('auth-server', 'deal-server', 'shared', 'verify/src').filter(
  (file) => !/\/(?:cli|generated)\//.test(file),
)

const order = (text) => createHash('sha256').update(`keyhold${text}`).digest('hex')

/** All places of a kind, in an order that the seed gives. */
function placesOf(kind) {
  const [pattern, replacement] = kinds[kind]
  const found = sources.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line, at) => ({ kind, file, at, line, changed: line.replace(pattern, replacement) }))
      .filter(
        ({ line, changed }) => changed !== line && !/^\s*(?:\*|\/[/*]|import|export type|type )|=>\s*$/.test(line),
      ),
  )
  return found.sort((one, other) => order(`${one.file}:${one.at}`).localeCompare(order(`${other.file}:${other.at}`)))
}

const places = Object.keys(kinds).map(placesOf)
const mutants = Array.from(
  { length: Number(count) },
  (_, n) => places[n % places.length][Math.floor(n / places.length)],
)

/** Runs tests until one fails. Answers what failed; undefined when nothing did. */
function failureOf(filters) {
  const parameters = ['vitest', 'run', '--bail=1', '--reporter=dot', ...filters]
  const { status, stdout, stderr } = spawnSync('npx', parameters, { encoding: 'utf8', maxBuffer: 1e9 })
  if (status === 0) return undefined
  return /FAIL .*/.exec(stripVTControlCharacters(stdout + stderr))?.[0] ?? `exit code ${status}`
}

/** Which files import a file. */
const importers = new Map()
for (const file of filesOf()) {
  for (const [, imported] of readFileSync(file, 'utf8').matchAll(/(?:from|import)\(? ?'(\.[^']+\.tsx?)'/g)) {
    const path = join(dirname(file), imported)
    importers.set(path, [...(importers.get(path) ?? []), file])
  }
}

/** The tests of `npm test` that load a file, the ones with the fewest imports between first. */
function testsOf(file) {
  const found = new Set([file])
  for (const one of found) for (const importer of importers.get(one) ?? []) found.add(importer)
  return [...found].filter((one) => one.endsWith('.test.ts') && !one.startsWith('test/long/'))
}

/** The first failure: of the nearest tests, of more of them, then of all of `npm test`. */
function noticedBy(file) {
  const tests = testsOf(file)
  const stages = [tests.slice(0, 8), tests.slice(8, 40)].filter(({ length }) => length > 0)
  for (const filters of [...stages, []]) {
    const failure = failureOf(filters)
    if (failure) return failure
  }
}

for (const [n, mutant] of mutants.entries()) {
  if (n < Number(first) || mutant === undefined) continue
  const { kind, file, at, line, changed } = mutant
  const [text, started] = [readFileSync(file, 'utf8'), Date.now()]
  let noticed
  // A test that fails without the mutant too says nothing of it.
  for (let unsteady = true, tries = 0; unsteady && tries < 3; tries += 1) {
    writeFileSync(file, text.split('\n').with(at, changed).join('\n'))
    noticed = noticedBy(file)
    writeFileSync(file, text)
    unsteady = noticed !== undefined && failureOf(/test\/\S+\.test\.ts/.exec(noticed) ?? []) !== undefined
    if (unsteady) console.log(`${n} UNSTEADY ${noticed}`)
  }
  const seconds = Math.round((Date.now() - started) / 1000)
  console.log(`${n} ${noticed ?? 'SURVIVED'} ${seconds} s, ${kind}: ${file}:${at + 1} ${line.trim()}`)
}
