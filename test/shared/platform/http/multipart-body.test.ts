import { expect, it } from 'vitest'
import { isMultipart, readMultipart } from '../../../../shared/platform/http/content/multipart-body.ts'
import type { HttpRequest } from '../../../../shared/platform/http/request.ts'

const requestWith = (body: string, contentType = 'multipart/form-data; boundary=of-this-form'): HttpRequest =>
  ({
    header: (name: string) => (name === 'content-type' ? contentType : undefined),
    readBody: () => Promise.resolve(Buffer.from(body)),
  }) as unknown as HttpRequest

const part = (disposition: string, value: string) =>
  `--of-this-form\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`

it('reads fields and files, and leaves out fields for files that are empty', async () => {
  const body = [
    part('name="a"', 'é\r\n'),
    part('name="file"; filename="ä.csv"', 'name,price\nx,1\n'),
    part('name="none"; filename=""', ''),
    '--of-this-form--\r\n',
  ].join('')
  const { fields, files } = await readMultipart(requestWith(body))
  expect([...fields]).toEqual([['a', 'é\r\n']])
  expect([...files]).toEqual([['file', { name: 'ä.csv', text: 'name,price\nx,1\n' }]])
})

it.each([
  ['nothing', ''],
  ['no end', part('name="a"', '1')],
  ['a part without a name', `${part('x="a"', '1')}--of-this-form--\r\n`],
  ['a field twice', `${part('name="a"', '1')}${part('name="a"', '2')}--of-this-form--\r\n`],
  [
    'a field and a file of one name',
    `${part('name="a"', '1')}${part('name="a"; filename="f"', '2')}--of-this-form--\r\n`,
  ],
])('refuses a body with %s', async (_, body) => {
  await expect(readMultipart(requestWith(body))).rejects.toMatchObject({ code: 'invalid-body' })
})

it('refuses a type without a boundary, and knows which requests are such forms', async () => {
  const request = requestWith(`${part('name="a"', '1')}--of-this-form--\r\n`, 'multipart/form-data')
  await expect(readMultipart(request)).rejects.toMatchObject({ code: 'invalid-body' })
  expect(isMultipart(request)).toBe(true)
  expect(isMultipart(requestWith('', 'application/x-www-form-urlencoded'))).toBe(false)
})

it('takes a short time for very many small parts', async () => {
  const many = Array.from({ length: 20_000 }, (_, index) => part(`name="${index}"`, '')).join('')
  const started = process.hrtime.bigint()
  await readMultipart(requestWith(`${many}--of-this-form--\r\n`)).catch(() => undefined)
  expect(Number(process.hrtime.bigint() - started) / 1e6).toBeLessThan(5_000)
})
