import { describe, expect, it } from 'vitest'
import { createLog } from '../../../../shared/platform/log/log.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'

const logging = () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', format: 'json' }, { write: (line) => void lines.push(line) })
  return { log, lines }
}

describe('the log', () => {
  it('writes no member with a secret, at any depth and in any case', () => {
    const { log, lines } = logging()
    const deep = { request: { headers: [{ Authorization: 'Bearer planted' }, { 'Set-Cookie': ['planted'] }] } }
    log.info(
      { deep, password: 'planted', body: { a: { b: { refresh_token: { inner: 'planted' } } } }, kept: 'yes' },
      'hello',
    )
    expect(lines.join('')).not.toContain('planted')
    const entry = JSON.parse(lines[0] ?? '')
    expect(entry).toMatchObject({ kept: 'yes', msg: 'hello', password: '[redacted]' })
    expect(entry.deep.request.headers).toEqual([{ Authorization: '[redacted]' }, { 'Set-Cookie': '[redacted]' }])
  })

  it('does not change a text that only looks like such a member', () => {
    const { log, lines } = logging()
    log.info('{"password":"in a sentence"}')
    expect(JSON.parse(lines[0] ?? '').msg).toBe('{"password":"in a sentence"}')
  })

  it('logs a missing dependency without a stack, and other errors with one', () => {
    const { log, lines } = logging()
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    log.warn({ err: new Unavailable('cache', { cause: new Error('no connection', { cause: refused }) }) })
    log.error({ err: new Error('a mistake of ours', { cause: refused }) })
    const [away, mistake] = lines.map((line) => JSON.parse(line).err)
    expect(away).toEqual({
      type: 'Unavailable',
      name: 'Unavailable',
      message: 'cache is not available',
      dependency: 'cache',
      retryAfterSeconds: 1,
      cause: {
        type: 'Error',
        message: 'no connection',
        cause: { type: 'Error', message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' },
      },
    })
    expect(mistake.stack).toContain('log.test.ts')
    expect(mistake.cause.stack).toContain('log.test.ts')
  })
})
