/** How far the journal of each writer has come into the chain (`journal.ts`): the chain itself says so. */
import { createHash } from 'node:crypto'

/** Where a writer is in its journal: the number and the MAC of an entry of its own. */
export interface JournalPlace {
  /** Names a run of a server. */
  readonly writer: string
  /** Counts the entries of the writer without gaps, from 1. */
  readonly number: number
  readonly mac: string
}

/**
 * The part of a journal that came into the chain at once: the last of its entries carries it, under its own MAC. So
 * nobody without SECRETS_KEY can have entries of a journal chained a second time without a trace.
 */
export interface JournalPart {
  readonly writer: string
  /** The numbers of its first and its last entry. */
  readonly first: number
  readonly last: number
  /** The MAC of the last one in the journal. */
  readonly mac: string
}

/** Follows the parts of journals along the chain, entry by entry. */
export interface JournalPlaces {
  /** False for an entry whose part does not begin right behind the last one of its writer. */
  follows(entry: { readonly journal?: JournalPart | undefined }): boolean
}

/** Creates the places from where the entries begin; `undefined` when it is not known how far writers were there. */
export function createJournalPlaces(known: readonly JournalPlace[] | undefined): JournalPlaces {
  const last = new Map(known?.map(({ writer, number }) => [writer, number]))
  return {
    follows: ({ journal }) => {
      if (journal === undefined) return true
      const before = last.get(journal.writer) ?? (known ? 0 : journal.first - 1)
      last.set(journal.writer, journal.last)
      return journal.first === before + 1 && journal.last >= journal.first
    },
  }
}

/** The places behind these parts, which follow those places. */
export function placesBehind(places: readonly JournalPlace[], parts: readonly JournalPart[]): JournalPlace[] {
  const behind = new Map(places.map((place) => [place.writer, place]))
  for (const { writer, last: number, mac } of parts) behind.set(writer, { writer, number, mac })
  return [...behind.values()]
}

/** SHA-256 of places in any order, base64url. */
export function digestOf(places: readonly JournalPlace[]): string {
  const sorted = places.map(({ writer, number, mac }) => JSON.stringify([writer, number, mac])).toSorted()
  return createHash('sha256').update(sorted.join('\n')).digest('base64url')
}
