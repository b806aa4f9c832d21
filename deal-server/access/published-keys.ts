import type { KeyStore } from './key-store.ts'

/**
 * Told again and again which keys auth servers publish, loads a document anew as soon as it has others than are held. While auth servers
 * differ, because one has noticed a change before the other, it loads more than once and ends with what all of them say.
 */
export const followPublishedKeys =
  (jwt: Pick<KeyStore, 'digest' | 'refresh'>, keySigned?: Pick<KeyStore, 'digest' | 'refresh'>) =>
  (published: string): void => {
    const [jwtDigest, keySignedDigest] = published.split('.')
    if (jwtDigest !== jwt.digest()) void jwt.refresh()
    if (keySigned && keySignedDigest !== keySigned.digest()) void keySigned.refresh()
  }
