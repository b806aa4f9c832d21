import type { KeyStore } from './key-store.ts'

/**
 * Told again and again which keys auth servers publish, loads a document anew as soon as it has others than are held. While auth servers
 * differ, because one has noticed a change before the other, it loads more than once and ends with what all of them say.
 */
export const followPublishedKeys =
  (jwt: Followed, keySigned: Followed) =>
  (published: string): void => {
    const [jwtDigest, keySignedDigest] = published.split('.')
    follow(jwt, jwtDigest)
    follow(keySigned, keySignedDigest)
  }

type Followed = Pick<KeyStore, 'digest' | 'refresh' | 'confirm'>

function follow(store: Followed, published: string | undefined): void {
  if (published === store.digest()) store.confirm()
  else void store.refresh()
}
