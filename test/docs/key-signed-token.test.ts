import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { keySignedVectors } from '../vectors/key-signed-vectors.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/key-signed-token.md'), 'utf8')
const program = /```python\n(.*?)```/s.exec(page)?.[1] ?? ''

describe('the page on key-signed tokens', () => {
  it('takes its worked example from the vectors, octet by octet', () => {
    const rows = [...page.matchAll(/^\| (\d+) \| (\d+) \| [a-z ]+ \| `([0-9a-f]+)` \|/gm)]
    let end = 0
    for (const [, at, length, octets] of rows) {
      expect({ at: Number(at), length: Number(length) }).toEqual({ at: end, length: (octets?.length ?? 0) / 2 })
      end += Number(length)
    }
    const vector = keySignedVectors.vectors.find(({ name }) => name === 'everything')
    expect(rows.map(([, , , octets]) => octets).join('')).toBe(vector && 'payload' in vector && vector.payload)
  })

  const isPythonHere = spawnSync('python3', ['--version']).status === 0

  it.skipIf(!isPythonHere)('has a program that says of the vectors what they say', () => {
    const input = JSON.stringify(keySignedVectors)
    const main = `
import json, sys
file = json.load(sys.stdin)
def outcome(vector):
    try:
        return verify(vector["token"], file, vector["now"])["id"]
    except Exception:
        return None
print(json.dumps([outcome(vector) for vector in file["vectors"]]))
`
    const { stdout, stderr } = spawnSync('python3', ['-c', program + main], { input, encoding: 'utf8' })
    expect(stderr).toBe('')
    const outcomes = JSON.parse(stdout) as (string | null)[]
    for (const [at, vector] of keySignedVectors.vectors.entries()) {
      const said = { name: vector.name, id: outcomes[at] }
      // The program leaves the bounds of fields to its reader.
      if (vector.outcome === 'accepted') {
        expect(said).toEqual({ name: vector.name, id: vector.claims.jti.replaceAll('-', '') })
      } else if (!('because' in vector && vector.because === 'content')) {
        expect(said).toEqual({ name: vector.name, id: null })
      }
    }
  })
})
