import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { textFiles } from '../architecture/source.ts'
import { anchorsOf, linksIn, partsOf, proseOf, rowsIn, wholePage } from './markdown.ts'

const root = join(import.meta.dirname, '../..')

/** Folders that are not part of the source. */
const ignored = new Set(['node_modules', 'dist', 'data', 'coverage', 'migrations', '.git'])

function pagesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return ignored.has(entry.name) ? [] : pagesBelow(path)
    return entry.name.endsWith('.md') ? [path] : []
  })
}

const pages = new Map(pagesBelow(root).map((path) => [path, readFileSync(path, 'utf8')]))
const nameOf = (path: string): string => relative(root, path)

/** Why a link of this page leads nowhere; undefined for a good one, and for one to another site. */
function problemOf(page: string, link: string): string | undefined {
  if (/^[a-z]+:/.test(link)) return undefined
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? page : resolve(dirname(page), file)
  if (!existsSync(target)) return `${nameOf(page)}: there is no ${link}`
  const text = pages.get(target)
  if (anchor === undefined || text === undefined) return undefined
  return anchorsOf(text).includes(anchor) ? undefined : `${nameOf(page)}: ${nameOf(target)} has no heading #${anchor}`
}

describe('the pages', () => {
  it('are found', () => {
    const names = [...pages.keys()].map(nameOf)
    expect(names).toEqual(expect.arrayContaining(['README.md', 'docs/contract.md', 'deal-server/http/README.md']))
  })

  it('have links and anchors that lead somewhere', () => {
    const problems = [...pages].flatMap(([page, text]) => linksIn(text).flatMap((link) => problemOf(page, link) ?? []))
    expect(problems).toEqual([])
  })

  it.each(['docs/architecture.md', 'docs/revocation.md'])('%s names files that exist', (name) => {
    const text = readFileSync(join(root, name), 'utf8')
    const files = [...text.matchAll(/`((?:auth-server|deal-server|shared|verify|test|bench)\/[\w./-]+)`/g)].map(
      ([, path = '']) => path,
    )
    expect(files.length).toBeGreaterThan(5)
    expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  it('are there where comments refer to them', () => {
    const references = textFiles().flatMap(({ path, lines }) =>
      lines.flatMap((line) => [...line.matchAll(/\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g)].map(([link]) => ({ path, link }))),
    )
    expect(references.length).toBeGreaterThan(3)
    const problems = references.flatMap(({ path, link }) => {
      const problem = problemOf(join(root, 'README.md'), link)
      return problem === undefined ? [] : [`${path}: ${problem}`]
    })
    expect(problems).toEqual([])
  })

  it('are the only documents that comments refer to', () => {
    const foreign = /\bCONTRACT\b|\bdeal model \d|\bnotes\/\w|\bDESIGN\b/
    const lines = textFiles().flatMap(({ path, lines }) =>
      lines.flatMap((line, index) => (foreign.test(line) ? [`${path}:${index + 1}`] : [])),
    )
    expect(lines.filter((at) => !at.startsWith('test/docs/'))).toEqual([])
  })

  it('of docs/ are in its index, with about the minutes that they take', () => {
    const files = readdirSync(join(root, 'docs')).filter((file) => /^(?!README).*\.md$/.test(file))
    const rows = rowsIn(readFileSync(join(root, 'docs/README.md'), 'utf8'))
      .slice(1)
      .map(([, links = '', , minutes]) => ({ named: linksIn(links), minutes: Number(minutes) }))
    expect(rows.flatMap(({ named }) => named).toSorted()).toEqual([...files, 'decisions/README.md'].toSorted())
    const wordsIn = (page: string): number => (pages.get(join(root, 'docs', page)) ?? '').split(/\s+/).length
    const wrong = rows.filter(({ named, minutes }) => {
      const expected = named.reduce((sum, page) => sum + wordsIn(page), 0) / 200
      return Math.abs(minutes - expected) > 2
    })
    expect(wrong).toEqual([])
  })

  it.each(['contract', 'operations'])('of docs/%s/ are those that the page of this name leads to', (name) => {
    const parts = readdirSync(join(root, 'docs', name))
    expect(parts.length).toBeGreaterThan(1)
    expect(partsOf(`${name}.md`).toSorted()).toEqual(
      [`${name}.md`, ...parts.map((file) => `${name}/${file}`)].toSorted(),
    )
  })

  it.each(['contract.md', 'deal-model.md'])(
    'docs/%s has each heading once, with its parts: code refers to it',
    (name) => {
      const anchors = anchorsOf(wholePage(name))
      expect(anchors.filter((anchor, index) => anchors.indexOf(anchor) !== index)).toEqual([])
    },
  )

  it.each([...pages.keys()].map(nameOf).filter((name) => /^(?:[A-Z]+|docs\/.*)\.md$/.test(name)))(
    '%s has no line of prose over 120 columns',
    (name) => {
      const long = proseOf(readFileSync(join(root, name), 'utf8')).filter((line) => line.length > 120)
      expect(long).toEqual([])
    },
  )

  it('name servers by variables that mean the same on every page, and by no port beside these', () => {
    const blocks = [...pages].flatMap(([path, text]) =>
      Array.from(text.matchAll(/^```(?:sh|bash)\n(.*?)^```/gms), ([, block = '']) => ({ page: nameOf(path), block })),
    )
    const variable = /\b((?:AUTH|DEAL)[A-Z0-9]*)=(?:\$\{\1:-)?([^\s}]+)\}?/g
    const meanings = new Map<string, Set<string>>()
    for (const { block } of blocks)
      for (const [, name = '', value = ''] of block.matchAll(variable))
        meanings.set(name, (meanings.get(name) ?? new Set()).add(value))
    expect([...meanings.keys()]).toEqual(expect.arrayContaining(['AUTH', 'DEAL', 'DEALS']))
    expect([...meanings].filter(([, values]) => values.size > 1)).toEqual([])
    // What is left after the assignments, and after the comments, which show what is printed.
    const literal = blocks.filter(({ block }) =>
      /127\.0\.0\.1:400\d/.test(block.replace(/^#.*$/gm, '').replace(/\b[A-Z]+\d?=\S+/g, '')),
    )
    expect(literal.map(({ page }) => page)).toEqual([])
  })

  it('are short: README at most 10 kB, a page of docs/ at most 25 kB', () => {
    const sizes = [...pages].map(([path, text]) => ({ name: nameOf(path), bytes: Buffer.byteLength(text) }))
    const bound = (name: string) => (name === 'README.md' ? 10_000 : name.startsWith('docs/') ? 25_000 : Infinity)
    expect(sizes.filter(({ name, bytes }) => bytes > bound(name))).toEqual([])
  })
})

describe('the folders', () => {
  it('have a page where there is more to say than the files say, and less than a page of docs/ would', () => {
    const lines = (text: string) => text.trimEnd().split('\n').length
    const fronts = [...pages]
      .map(([path, text]) => ({ name: nameOf(path), lines: lines(text) }))
      .filter(({ name }) =>
        /^(auth-server|deal-server|shared|console|verify|cli|test|scripts)\/.*README\.md$/.test(name),
      )
    expect(fronts.filter(({ lines }) => lines < 10 || lines > 80)).toEqual([])
  })
})
