import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newImportState, openCheckpoint } from '../../../cli/transfer/checkpoint.ts'

describe('the state of an import', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keyhold-checkpoint-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  it('is kept by two imports of one file at once', async () => {
    const path = join(folder, 'deals.csv.progress')
    const imports = [openCheckpoint(path), openCheckpoint(path)]
    for (let rows = 1; rows <= 50; rows += 1) {
      await Promise.all(imports.map((one) => one.save({ ...newImportState('key'), rows }, true)))
    }
    expect(await imports[0]?.load('key')).toMatchObject({ rows: 50 })
    expect(await readdir(folder)).toEqual(['deals.csv.progress'])
  })
})
