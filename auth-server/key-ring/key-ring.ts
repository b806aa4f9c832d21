/**
 * The key ring in use: the key that signs, the keys that verify, and their published form. Reads `KEYS_DIR`:
 * `keyring.json` and one PKCS#8 file for each key pair. Follows changes by operators, and keeps the former ring when a
 * new one cannot be used. Knows nothing of tokens.
 */
import type { KeyObject } from 'node:crypto'
import { watch } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JWK } from 'jose'
import { gather } from '../../shared/platform/concurrency/gather.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import type { VerificationKeys } from '../../shared/protocol/access-token/verify-access-token.ts'
import { joinDigests, keySetDigest } from '../../shared/protocol/internal-api/published-keys.ts'
import { operationsOf } from './key-operations.ts'
import { type KeyEntry, type KeyUse, keyRingFileName, parseKeyRingFile } from './keyring-file.ts'
import { type KeyRingPlace, type LoadedKey, loadKeys, readKeyRingText } from './load-key-ring.ts'
import { type NotedOperation, withNotes } from './operator-notes.ts'

/** A public key as JWK, with public members only (RFC 7517 §4, RFC 7518 §6, RFC 8037 §2). */
export interface PublicJwk extends JWK {
  readonly kid: string
  readonly use: 'sig'
  readonly alg: string
}

/** A JWK Set (RFC 7517 §5). Never empty. */
export interface JwkSet {
  readonly keys: readonly PublicJwk[]
}

/** The public state of a key: its entry without the file name. Times are RFC 3339. */
export type KeyStatus = Omit<KeyEntry, 'file'>

/** Opens the ring in this folder, and follows its changes. It is read at this interval. @throws KeyRingError */
export async function openKeyRing(
  place: KeyRingPlace,
  log: Pick<Log, 'info' | 'error'>,
  { intervalMs = 250 }: { readonly intervalMs?: number } = {},
): Promise<KeyRing> {
  const text = await readKeyRingText(place.directory)
  const ring = new KeyRing(place, log, { text, keys: await loadKeys(text, place) })
  ring.watch(intervalMs)
  return ring
}

interface Snapshot {
  readonly text: string
  readonly keys: readonly LoadedKey[]
}

/** The current key ring. Results change when operators change the ring. */
export class KeyRing {
  readonly #place: KeyRingPlace
  readonly #log: Pick<Log, 'info' | 'error'>
  readonly #stop = new AbortController()
  readonly #listeners: (() => void)[] = []
  /** Runs one read at a time. A caller during a read waits for the next one, which all such callers share. */
  readonly #gatherReads = gather<undefined, undefined>({
    run: async (callers) => {
      await this.#reload()
      return callers
    },
    maxInFlight: 1,
  })
  #snapshot: Snapshot
  #problem: string | undefined
  #watching: Promise<void> = Promise.resolve()
  #verifying: Readonly<Record<KeyUse, ReadonlyMap<string, KeyObject>>>

  constructor(place: KeyRingPlace, log: Pick<Log, 'info' | 'error'>, snapshot: Snapshot) {
    this.#place = place
    this.#log = log
    this.#snapshot = snapshot
    this.#verifying = verifyingKeys(snapshot.keys)
  }

  /** The active key of this use. */
  signingKey(use: KeyUse): { readonly kid: string; readonly alg: KeyEntry['alg']; readonly privateKey: KeyObject } {
    const key = this.#of(use).find(({ entry }) => entry.state === 'active')
    if (!key) throw new Error(`no active key for ${use}`)
    return { kid: key.entry.kid, alg: key.entry.alg, privateKey: key.privateKey }
  }

  /** The keys that verify this use: pending, active and retired ones. */
  verificationKeys(use: KeyUse): VerificationKeys {
    return { key: (kid) => this.#verifying[use].get(kid) }
  }

  /** The published keys of this use, the active key first. */
  jwkSet(use: KeyUse): JwkSet {
    return { keys: this.#of(use).toSorted(activeFirst).map(publicJwk) }
  }

  /** The published key with this kid as PEM (SPKI); undefined when there is none. */
  publicKeyPem(kid: string): string | undefined {
    const key = this.#snapshot.keys.find(({ entry }) => entry.kid === kid)
    return key?.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  }

  /** Every key of the ring, removed keys too. */
  status(): readonly KeyStatus[] {
    const { keys } = parseKeyRingFile(this.#snapshot.text, keyRingFileName)
    return keys.map(({ file: _file, ...status }) => status)
  }

  /** Every operation that the keys of the ring went through, with the notes of operators. Never rejects. */
  operations(): Promise<NotedOperation[]> {
    return withNotes(this.#place.directory, operationsOf(this.status()))
  }

  /** The digest of the published keys of both uses (`shared/protocol/internal-api/published-keys.ts`). */
  publishedKeys(): string {
    const digestOf = (use: KeyUse) => keySetDigest(this.#of(use).map(({ entry }) => entry.kid))
    return joinDigests(digestOf('jwt'), digestOf('key-signed'))
  }

  /** Reads the folder now. Resolves when the ring in the folder is in use, or cannot be used. */
  reload(): Promise<void> {
    return this.#gatherReads(undefined)
  }

  /** Calls `listener` after each change of the ring. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Why the ring in the folder cannot be used; undefined when it is in use. */
  problem(): string | undefined {
    return this.#problem
  }

  /** Stops to watch the folder. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#watching
  }

  /**
   * Watches the folder: reads it when the system reports a change, and at intervals, because not every file system
   * reports.
   */
  watch(intervalMs: number): void {
    this.#watching = this.#poll(intervalMs)
    try {
      const listen = (event: string, file: string | null) => {
        // The file is replaced by a rename. Other writes may be incomplete: the next interval reads them.
        if (event === 'rename' && file === keyRingFileName) void this.reload()
      }
      const { signal } = this.#stop
      watch(this.#place.directory, { signal, persistent: false }, listen).on('error', () => undefined)
    } catch {
      // The system has no more watches, or cannot watch this folder. The intervals are enough.
    }
  }

  #of(use: KeyUse): LoadedKey[] {
    return this.#snapshot.keys.filter(({ entry }) => entry.use === use)
  }

  async #poll(intervalMs: number): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await sleep(intervalMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (!signal.aborted) await this.reload()
    }
  }

  async #reload(): Promise<void> {
    try {
      const text = await readKeyRingText(this.#place.directory)
      if (text !== this.#snapshot.text) {
        this.#snapshot = { text, keys: await loadKeys(text, this.#place) }
        this.#verifying = verifyingKeys(this.#snapshot.keys)
        this.#log.info({ kids: this.#snapshot.keys.map(({ entry }) => entry.kid) }, 'Key ring: changed')
        for (const listener of this.#listeners) listener()
      }
      this.#problem = undefined
    } catch (error) {
      const problem = error instanceof Error ? error.message : 'unknown error'
      if (problem !== this.#problem) this.#log.error(`Key ring: keeping the former one: ${problem}`)
      this.#problem = problem
    }
  }
}

function verifyingKeys(keys: readonly LoadedKey[]) {
  const of = (use: KeyUse) =>
    new Map(keys.filter(({ entry }) => entry.use === use).map(({ entry, publicKey }) => [entry.kid, publicKey]))
  return { jwt: of('jwt'), 'key-signed': of('key-signed') }
}

const activeFirst = (a: LoadedKey, b: LoadedKey) =>
  Number(b.entry.state === 'active') - Number(a.entry.state === 'active')

const publicJwk = ({ entry: { kid, alg }, jwk }: LoadedKey): PublicJwk => ({ ...jwk, kid, use: 'sig', alg })
