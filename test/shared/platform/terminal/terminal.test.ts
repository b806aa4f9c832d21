import { PassThrough, Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createTerminal, Interrupted } from '../../../../shared/platform/terminal/terminal.ts'

function open(isTTY = true) {
  const [input, output] = [Object.assign(new PassThrough(), { isTTY }), Object.assign(new PassThrough(), { isTTY })]
  let shown = ''
  output.on('data', (chunk) => (shown += chunk))
  return { input, terminal: createTerminal({ input, output }), shown: () => shown }
}

describe('questions at a terminal', () => {
  it('show what is typed, or nothing of it', async () => {
    const { input, terminal, shown } = open()
    const name = terminal.ask('Name: ')
    input.write('alice\r')
    expect(await name).toBe('alice')
    expect(shown()).toMatch(/^Name: .*alice/)
    const password = terminal.askHidden('Password: ')
    input.write(' s3cret\x7f\x7ftß \r')
    expect(await password).toBe(' s3crtß ')
    expect(shown()).toMatch(/Password: \n$/)
    expect(shown()).not.toMatch(/s3c/)
  })

  it.each([
    ['Ctrl-C', '\x03'],
    ['Ctrl-D', '\x04'],
  ])('end with %s', async (_name, key) => {
    const { input, terminal } = open()
    const answer = terminal.askHidden('Password: ')
    input.write(key)
    await expect(answer).rejects.toBeInstanceOf(Interrupted)
  })

  it('are asked only where somebody sits', () => {
    expect(open().terminal.isInteractive).toBe(true)
    expect(open(false).terminal.isInteractive).toBe(false)
  })

  it.each([
    ['a b \n', 'a b '],
    ['a\r\n', 'a'],
    ['a\n\n', 'a\n'],
    ['', ''],
  ])('reads %j as it is, but for the last line break', async (text, read) => {
    const input = Readable.from([Buffer.from(text)])
    expect(await createTerminal({ input, output: new PassThrough() }).readAll()).toBe(read)
  })

  it('refuse what is piped in and is no text', async () => {
    const input = Readable.from([Buffer.from('M\u00fcller\n', 'latin1')])
    await expect(createTerminal({ input, output: new PassThrough() }).readAll()).rejects.toThrow(/no text in UTF-8/)
  })
})
