/** Parses an option that may be repeated and may hold several values with commas between. */
export const list = (value: string, before: readonly string[] = []): string[] => [
  ...before,
  ...value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
]

/** A secret without the line break that `echo` or an editor put behind it. The spaces around it are its own. */
export const withoutLineEnd = (text: string): string => text.replace(/\r?\n$/, '')
