import { describe, expect, it } from 'vitest'
import { formType, readForm } from '../../../../../shared/platform/http/content/form-body.ts'
import { readJson } from '../../../../../shared/platform/http/content/json-body.ts'
import type { HttpRequest } from '../../../../../shared/platform/http/request.ts'

const requestWith = (type: string, coding: string, body: string): HttpRequest => {
  const fields: Readonly<Record<string, string>> = { 'content-type': type, 'content-encoding': coding }
  const request = { header: (name: string) => fields[name], readBody: async () => Buffer.from(body) }
  return request as unknown as HttpRequest
}

describe.each([
  ['JSON', (coding: string) => readJson(requestWith('application/json', coding, '{"a":"1"}'))],
  ['a form', async (coding: string) => Object.fromEntries(await readForm(requestWith(formType, coding, 'a=1')))],
])('%s', (_what, read) => {
  it.each(['identity', 'Identity', ' identity ', 'identity, identity', 'identity,', ''])(
    'is read with Content-Encoding %j, which changes nothing',
    async (coding) => {
      expect(await read(coding)).toEqual({ a: '1' })
    },
  )

  it.each(['gzip', 'identity, gzip', 'gzip,identity', 'x-identity', 'identity;q=1'])(
    'is refused with Content-Encoding %j',
    async (coding) => {
      await expect(read(coding)).rejects.toMatchObject({ code: 'unsupported-media-type' })
    },
  )
})
