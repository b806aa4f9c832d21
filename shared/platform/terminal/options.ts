/** Parses an option that may be repeated and may hold several values with commas between. */
export const list = (value: string, before: readonly string[] = []): string[] => [
  ...before,
  ...value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
]
