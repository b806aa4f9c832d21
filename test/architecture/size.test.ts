/** How many lines people read who take the project over: for each folder, without tests and generated files. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import * as z from 'zod'
import { sourceFiles } from './source.ts'

/** What a folder may have less than its number, so that small changes need not touch it. */
const slack = 100

const text = readFileSync(join(import.meta.dirname, 'size.json'), 'utf8')
const numbers = z.record(z.string(), z.number()).parse(JSON.parse(text))

it.each(Object.entries(numbers))(
  '%s has at most %i lines: who raises it says why, who takes away lowers it',
  (place, most) => {
    const own = sourceFiles().filter(
      ({ path }) => /\.tsx?$/.test(path) && (path === place || path.startsWith(`${place}/`)),
    )
    const lines = own.reduce((sum, file) => sum + file.lines.length, 0)
    expect(lines).toBeLessThanOrEqual(most)
    expect(lines).toBeGreaterThan(most - slack)
  },
)
