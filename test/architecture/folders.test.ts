import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sourceFiles, textFiles } from './source.ts'

const files = sourceFiles()
const own = new Set(files.map(({ path }) => path))

/** Every import of a file of ours by another one, types included, between the places that `placeOf` gives. */
function importsBetween(placeOf: (path: string) => string): Map<string, Set<string>> {
  const edges = new Map<string, Set<string>>()
  for (const { path, imports } of files) {
    for (const imported of imports.filter((name) => own.has(name))) {
      const [from, to] = [placeOf(path), placeOf(imported)]
      if (from !== to) edges.set(from, (edges.get(from) ?? new Set()).add(to))
    }
  }
  return edges
}

/** The places that can be reached from `start`. */
function reachedFrom(start: string, edges: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const reached = new Set<string>()
  const next = [...(edges.get(start) ?? [])]
  for (let place = next.pop(); place !== undefined; place = next.pop()) {
    if (reached.has(place)) continue
    reached.add(place)
    next.push(...(edges.get(place) ?? []))
  }
  return reached
}

/** The places that import themselves by way of others. */
const inCycles = (edges: ReadonlyMap<string, ReadonlySet<string>>): string[] =>
  [...edges.keys()].filter((place) => reachedFrom(place, edges).has(place))

const maxFiles = 20

/** Folders that grow by one file for each use case or scenario. */
const mayGrow = new Set(['deal-server/use-cases', 'bench'])

describe('the folders', () => {
  it('import each other in one direction', () => {
    expect(inCycles(importsBetween(dirname))).toEqual([])
  })

  it('at the top import each other in one direction; programs and tools put them together', () => {
    const programs = /^(?:auth|deal)-server\/main\.ts$|^start\.ts$|^scripts\/|^bench\/|\/build\.mjs$/
    const topOf = (path: string) => (programs.test(path) ? path : (path.split('/')[0] ?? ''))
    expect(inCycles(importsBetween(topOf))).toEqual([])
  })

  it(`have at most ${maxFiles} files each, those of the tests too`, () => {
    const counts = new Map<string, number>()
    for (const { path } of textFiles()) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
    const large = [...counts].filter(([folder, count]) => count > maxFiles && !mayGrow.has(folder))
    expect(large.map(([folder, count]) => `${folder} has ${count}`)).toEqual([])
  })
})

describe('the files', () => {
  it('import each other in one direction, types included', () => {
    expect(inCycles(importsBetween((path) => path))).toEqual([])
  })
})

it('sees a cycle of three', () => {
  const edges = new Map([
    ['a', new Set(['b'])],
    ['b', new Set(['c', 'd'])],
    ['c', new Set(['a'])],
  ])
  expect(inCycles(edges)).toEqual(['a', 'b', 'c'])
})
