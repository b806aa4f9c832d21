import { describe, expect, it } from 'vitest'
import { matrixOf } from './matrix.ts'

const factors = {
  scheme: ['bearer', 'session', 'basic', 'digest'],
  style: [{ has: 2 }, { has: 3 }, { has: 9 }, { has: 9 }, { has: 9 }],
  useCase: [0, 1, 2, 3, 4, 5, 6, 7, 8],
}
type One = ReturnType<typeof matrixOf<typeof factors>>[number]

const whole: One[] = factors.scheme.flatMap((scheme) =>
  factors.style.flatMap((style) => factors.useCase.map((useCase) => ({ scheme, style, useCase }))),
)
const pairsIn = ({ scheme, style, useCase }: One) => {
  const place = factors.style.indexOf(style)
  return [`${scheme} style ${place}`, `${scheme} useCase ${useCase}`, `style ${place} useCase ${useCase}`]
}
const pairsOf = (combinations: readonly One[]) => [...new Set(combinations.flatMap(pairsIn))].sort()

describe('a matrix', () => {
  it.each<[string, (one: One) => boolean]>([
    ['every combination is possible', () => true],
    ['a style does not have every use case', ({ style, useCase }) => useCase < style.has],
    ['a scheme has few partners', ({ scheme, style, useCase }) => scheme !== 'basic' || (style.has > 2 && useCase < 4)],
  ])('has each pair that can exist, and no other combination, where %s', (_, isPossible) => {
    const possible = whole.filter(isPossible)
    const rows = matrixOf(factors, isPossible, false)
    expect(rows.filter((one) => !isPossible(one))).toEqual([])
    expect(pairsOf(rows)).toEqual(pairsOf(possible))
    expect(new Set(rows.map((one) => pairsIn(one).join())).size).toBe(rows.length)
    expect(rows.length).toBeLessThan(possible.length / 2)
    expect(matrixOf(factors, isPossible, true)).toEqual(possible)
  })

  it('is the same each time', () => {
    expect(matrixOf(factors)).toEqual(matrixOf(factors))
  })
})
