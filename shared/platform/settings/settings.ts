/**
 * The settings reader: one line a setting, every problem reported at once and by name. Only the `config.ts` of each
 * server uses it, and only there is the environment read.
 */

export interface Setting<Value> {
  /** What it does, for the settings page. */
  readonly meaning: string
  /** What a value must look like; said when one does not. */
  readonly expected: string
  /** Used when the variable is absent or empty. */
  readonly fallback: Value
  /** Undefined when the text is not as expected. */
  parse(text: string): Value | undefined
}

/** The values of these settings. */
export type Values<Settings> = { [Name in keyof Settings]: Settings[Name] extends Setting<infer Value> ? Value : never }

/** What is wrong with one variable; never its value, which may be a secret. */
export interface SettingProblem {
  readonly variable: string
  readonly expected: string
}

/** Every problem of a configuration. The process ends with exit code 2 when it meets one. */
export class InvalidSettings extends Error {
  override readonly name = 'InvalidSettings'
  readonly problems: readonly SettingProblem[]

  constructor(problems: readonly SettingProblem[]) {
    super(['These settings cannot be used:', ...problems.map((p) => `  ${p.variable}: ${p.expected}`)].join('\n'))
    this.problems = problems
  }
}

/** Reads all `settings` from `environment`; a setting with a problem has its fallback among the values. */
export function readSettings<Settings extends Record<string, Setting<unknown>>>(
  settings: Settings,
  environment: Readonly<Record<string, string | undefined>>,
): { values: Values<Settings>; problems: SettingProblem[] } {
  const problems: SettingProblem[] = []
  const values = Object.entries(settings).map(([variable, setting]) => {
    const text = environment[variable]?.trim()
    if (text === undefined || text === '') return [variable, setting.fallback]
    const value = setting.parse(text)
    if (value === undefined) problems.push({ variable, expected: `expected ${setting.expected}` })
    return [variable, value ?? setting.fallback]
  })
  return { values: Object.fromEntries(values), problems }
}

/** A whole number within bounds. */
export function integer(
  meaning: string,
  bounds: { fallback: number; min: number; max: number; among?: readonly number[] },
): Setting<number> {
  const { fallback, min, max, among } = bounds
  return {
    meaning,
    expected: among ? `one of ${among.join(', ')}` : `a whole number from ${min} to ${max}`,
    fallback,
    parse: (text) => {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
      return value >= min && value <= max && (among?.includes(value) ?? true) ? value : undefined
    },
  }
}

/** A port; none when left out. */
export const port = (meaning: string): Setting<number | undefined> => ({
  ...integer(meaning, { fallback: 0, min: 1, max: 65_535 }),
  fallback: undefined,
})

/** `true` or `false`. */
export const flag = (meaning: string, fallback: boolean): Setting<boolean> => ({
  meaning,
  expected: 'true or false',
  fallback,
  parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
})

/** One of a few words. */
export const oneOf = <Word extends string, Fallback extends Word | undefined>(
  meaning: string,
  words: readonly Word[],
  fallback: Fallback,
): Setting<Word | Fallback> => ({
  meaning,
  expected: `one of ${words.join(', ')}`,
  fallback,
  parse: (text) => words.find((word) => word === text),
})

/** Text that `test` accepts. */
export const text = <Fallback extends string | undefined>(
  meaning: string,
  fallback: Fallback,
  rule: { expected: string; test: (text: string) => boolean } = { expected: 'text', test: () => true },
): Setting<string | Fallback> => ({
  meaning,
  expected: rule.expected,
  fallback,
  parse: (value) => (rule.test(value) ? value : undefined),
})

/** An http or https origin: scheme, host and port, nothing behind them. Given back as browsers write it. */
export const origin = (meaning: string): Setting<string | undefined> => ({
  meaning,
  expected: 'an origin such as https://auth.example.com',
  fallback: undefined,
  parse: originOf,
})

/** The origin in this text as browsers write it; undefined when it is none, or something stands behind it. */
export function originOf(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (!/^https?:$/.test(url.protocol) || url.username || url.search || url.hash) return undefined
  return url.pathname === '/' ? url.origin : undefined
}

/** A URL of one of the `protocols` (with colon). Kept as written. */
export const url = (meaning: string, protocols: readonly string[]): Setting<string | undefined> => ({
  meaning,
  expected: `a URL beginning with ${protocols.map((p) => `${p}//`).join(' or ')}`,
  fallback: undefined,
  parse: (value) => (URL.canParse(value) && protocols.includes(new URL(value).protocol) ? value : undefined),
})

/** One or two secrets, comma-separated: the first is used, the second is still accepted while secrets are rotated. */
export const secrets = (meaning: string, rule: { expected: string; test: (secret: string) => boolean }) =>
  ({
    meaning,
    expected: `${rule.expected}, or two of them with a comma between`,
    fallback: undefined,
    parse: (value: string): readonly string[] | undefined => {
      const all = value.split(',').map((secret) => secret.trim())
      return all.length <= 2 && all.every(rule.test) ? all : undefined
    },
  }) satisfies Setting<readonly string[] | undefined>

/** A comma-separated list whose every part `part` reads, none twice. */
export const listOf = <Part>(
  meaning: string,
  list: { expected: string; fallback: readonly Part[]; part: (text: string) => Part | undefined },
): Setting<readonly Part[]> => ({
  meaning,
  expected: list.expected,
  fallback: list.fallback,
  parse: (value) => {
    const parts = value.split(',').map((text) => list.part(text.trim()))
    const known = parts.filter((part) => part !== undefined)
    return known.length === parts.length && new Set(known).size === parts.length ? known : undefined
  },
})

/** So many events in a time. */
export interface Rate {
  readonly count: number
  readonly seconds: number
}

/** `count/seconds`. */
export const rate = (meaning: string, fallback: Rate): Setting<Rate> => ({
  meaning,
  expected: 'count/seconds, such as 10/900',
  fallback,
  parse: (value) => {
    const [, count, seconds] = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(value) ?? []
    return count === undefined ? undefined : { count: Number(count), seconds: Number(seconds) }
  },
})
