import { expect, it } from 'vitest'
import { faultOfStart } from '../../../auth-server/audit/log-start.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'

const keys = parseSecretsKeys(Buffer.alloc(32, 7).toString('base64url'))

/** As `ops audit archive` of release 0.3.0 has written it. */
const archived = {
  count: 21,
  digest: 'sfmC2sZ6',
  month: '2025-11',
  keyId: 'G0_2Py7I',
  seal: 'VjAqD52byUFi_FqZKFLe1AAhuGGDKP0DvFAy2qptbQg',
}

it('is sound behind the months that release 0.3.0 has archived, and broken when anything of it is changed', () => {
  expect(faultOfStart(keys, archived)).toBeUndefined()
  expect(faultOfStart(keys, { ...archived, count: 22 })).toBe('broken')
  expect(faultOfStart(keys, { ...archived, month: '' })).toBe('broken')
})
