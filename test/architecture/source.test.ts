import { describe, expect, it } from 'vitest'
import { readSource, tooLong } from './source.ts'

describe('what the tests of the source see', () => {
  const steps = (count: number) => Array<string>(count).fill('step()').join('\n')

  it.each([
    (body: string) => `function long() { ${body} }`,
    (body: string) => `const long = () => { ${body} }`,
    (body: string) => `class Some { async #long() { ${body} } }`,
    (body: string) => `class Some { get long() { ${body} } }`,
    (body: string) => `export const x = { handle: async () => { ${body} } }`,
    (body: string) => `function long() { for (;;) { ${body.replace('step()', '')} } }`,
  ])('a function of 31 statements: %s', (write) => {
    const path = 'shared/x.ts'
    expect(tooLong(readSource(path, write(steps(31))))).toEqual(['shared/x.ts:1 has 31 statements'])
    expect(tooLong(readSource(path, write(steps(30))))).toEqual([])
  })

  it('no statements of inner functions', () => {
    expect(tooLong(readSource('shared/x.ts', `function outer() { return () => { ${steps(30)} } }`))).toEqual([])
  })

  it('a literal that is spread into another one', () => {
    const text = ['const a = { ...{ b },', '...(c && { d }), ...e, f: [...[1], ...g] }']
    expect(readSource('shared/x.ts', text.join('\n')).spreadLiterals).toEqual([1, 2])
    expect(readSource('console/x.tsx', 'const a = (\n<B {...{ c }} {...d} />\n)').spreadLiterals).toEqual([2])
  })
})
