import { mkdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { OperatorError, withFilesOf } from '../../../shared/platform/operator-error.ts'

describe('a refusal of the system to use a file', () => {
  it('becomes one line with the setting, the folder and the reason', async () => {
    const inFile = `${import.meta.filename}/folder`
    const refused = withFilesOf('KEYS_DIR', inFile, () => mkdir(inFile))
    await expect(refused).rejects.toThrow(OperatorError)
    await expect(refused).rejects.toThrow(
      new RegExp(`^KEYS_DIR: ${inFile} cannot be used: ENOTDIR: not a directory, .*$`),
    )
  })

  it('does not hide our own mistakes', async () => {
    const fault = new TypeError('a fault')
    await expect(withFilesOf('KEYS_DIR', '/keys', () => Promise.reject(fault))).rejects.toBe(fault)
  })
})
