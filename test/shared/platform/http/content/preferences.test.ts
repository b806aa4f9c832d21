import { expect, it } from 'vitest'
import { preferenceOf } from '../../../../../shared/platform/http/content/preferences.ts'

const countIn = (prefer: string | undefined) =>
  preferenceOf({ header: (name) => (name === 'prefer' ? prefer : undefined) }, 'count')

it.each([
  ['count=exact', 'exact'],
  ['Count = "Exact"', 'exact'],
  ['return=minimal, count=estimated; strict', 'estimated'],
  ['note="a, count=exact", count=planned', 'planned'],
  ['count=exact, count=estimated', 'exact'],
  ['count', undefined],
  ['count=', ''],
  ['counts=exact', undefined],
  ['', undefined],
  [undefined, undefined],
])('reads the preference in Prefer: %s', (prefer, expected) => expect(countIn(prefer)).toBe(expected))
