import { describe, expect, it } from 'vitest'
import { createCursors, cursorKeyOf, type ListScope } from '../../../../../shared/platform/http/pagination/cursors.ts'
import type { Position } from '../../../../../shared/platform/pagination.ts'

const [oldKey, newKey, dummyKey] = ['old secret', 'new secret', 'another server’s'].map(cursorKeyOf) as [
  Buffer,
  Buffer,
  Buffer,
]
const cursors = createCursors([newKey, oldKey])
const scope: ListScope = { list: 'deals', query: { status: 'open', q: undefined, by: 'name', descending: true } }
const position: Position = ['Ä name', '0192f0c0-0000-7000-8000-000000000000', null, 12]
const refusal = { code: 'invalid-cursor', members: { errors: [{ pointer: '/cursor', code: 'invalid-cursor' }] } }

const expectRefused = (cursor: string, reader = cursors, of = scope) => {
  let thrown: unknown
  try {
    reader.read(of, cursor)
  } catch (error) {
    thrown = error
  }
  expect(thrown, cursor).toMatchObject(refusal)
}

describe('a cursor', () => {
  const cursor = cursors.write(scope, position)

  it('gives back the position it was made of', () => {
    expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/)
    for (const one of [position, [1], [null, 'a'], []]) {
      expect(cursors.read(scope, cursors.write(scope, one))).toEqual(one)
    }
  })

  it('is refused with any one character changed, whichever it is', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (let index = 0; index < cursor.length; index += 1) {
      for (const other of [...alphabet, '+', '/', '=', '.', ' ', '\u0000', 'é', '%']) {
        if (other !== cursor[index]) expectRefused(cursor.slice(0, index) + other + cursor.slice(index + 1))
      }
    }
  })

  it('is refused cut off anywhere, and with anything added', () => {
    for (let length = 0; length < cursor.length; length += 1) {
      expectRefused(cursor.slice(0, length))
      expectRefused(cursor.slice(length + 1))
    }
    for (const more of ['A', '=', '==', '\n', ' ', '.', cursor]) {
      expectRefused(cursor + more)
      expectRefused(more + cursor)
    }
  })

  it('is refused for another list, another filter and another order', () => {
    for (const other of [
      { list: 'users' },
      { ...scope, list: 'deal' },
      { ...scope, query: { ...scope.query, status: 'completed' } },
      { ...scope, query: { ...scope.query, q: 'x' } },
      { ...scope, query: { ...scope.query, by: 'price' } },
      { ...scope, query: { ...scope.query, descending: false } },
      { list: 'deals' },
    ]) {
      expectRefused(cursor, cursors, other)
    }
  })

  it('is accepted under a second secret, and refused under a foreign one', () => {
    expect(createCursors([oldKey]).read(scope, createCursors([oldKey, newKey]).write(scope, position))).toEqual(
      position,
    )
    expect(cursors.read(scope, createCursors([oldKey]).write(scope, position))).toEqual(position)
    expectRefused(cursor, createCursors([oldKey]))
    expectRefused(createCursors([dummyKey]).write(scope, position))
  })

  it('is signed with a key that is not the secret itself', () => {
    expectRefused(createCursors([Buffer.from('new secret')]).write(scope, position))
  })

  it('cannot move between scope and position', () => {
    const short = cursors.write({ list: 'a', query: {} }, ['b'])
    expectRefused(short, cursors, { list: 'a', query: { b: 1 } })
    expect(() => createCursors([])).toThrow(TypeError)
  })
})
