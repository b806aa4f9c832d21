/** Walks over the pages of a list, as a client that follows `Link` does. */
import { expect } from 'vitest'
import type { Reply } from './http-client.ts'

export type Item = Readonly<Record<string, unknown>>

/** The items of a page in either form. */
export const itemsOf = ({ text }: Reply): Item[] => {
  const value = JSON.parse(text)
  return Array.isArray(value) ? value : value.items
}

/**
 * The target of `rel="next"`, without the origin; undefined on the last page. The envelope, where there is one, says
 * the same.
 */
export function nextOf(reply: Reply, origin: string): string | undefined {
  const link = reply.headers.get('link')
  const target = link === null ? undefined : /^<([^<>]+)>; rel="next"$/.exec(link)?.[1]
  expect(target === undefined).toBe(link === null)
  if (target !== undefined) expect(target.startsWith(`${origin}/`), target).toBe(true)
  const cursor = target === undefined ? null : new URL(target).searchParams.get('cursor')
  if (!reply.text.startsWith('[')) expect(reply.body.nextCursor).toBe(cursor)
  return target?.slice(origin.length)
}

export interface Walk {
  readonly send: (path: string) => Promise<Reply>
  readonly origin: string
  /** Called between two pages. */
  readonly between?: (page: number) => Promise<void>
}

/** All items in order, and how many there were on each page. */
export async function walk(path: string, { send, origin, between }: Walk): Promise<{ items: Item[]; sizes: number[] }> {
  const items: Item[] = []
  const sizes: number[] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const reply = await send(next)
    expect(reply.status, `${next}: ${reply.text}`).toBe(200)
    const page = itemsOf(reply)
    items.push(...page)
    sizes.push(page.length)
    next = nextOf(reply, origin)
    if (next !== undefined) await between?.(sizes.length)
  }
  return { items, sizes }
}
