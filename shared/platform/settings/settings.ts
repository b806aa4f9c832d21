/**
 * Settings from environment variables, one line for each setting. All problems are reported at once, by name. Only the
 * `config.ts` of a server uses this file, and only there the environment is read.
 */
import * as z from 'zod'

/** One environment variable. */
export interface Setting<Value> {
  /** What the setting does, for the settings page. */
  readonly meaning: string
  /** The form of a valid value. It is named when a value is not valid. */
  readonly expected: string
  /** The value when the variable is absent or empty. */
  readonly fallback: Value
  /** Reads the text of the variable. Its error messages are never shown: a value may be a secret. */
  readonly schema: z.ZodType<Value>
  /** What is wrong with a text, without repeating it, for forms that one sentence cannot name. */
  readonly problemOf?: (text: string) => string | undefined
}

/** The values of these settings. */
export type Values<Settings> = { [Name in keyof Settings]: Settings[Name] extends Setting<infer Value> ? Value : never }

/** The problem of one variable; never its value, which may be a secret. */
export interface SettingProblem {
  readonly variable: string
  readonly expected: string
}

/** All problems of a configuration. The process then ends with exit code 2. */
export class InvalidSettings extends Error {
  override readonly name = 'InvalidSettings'
  readonly problems: readonly SettingProblem[]

  constructor(problems: readonly SettingProblem[]) {
    super(['These settings cannot be used:', ...problems.map((p) => `  ${p.variable}: ${p.expected}`)].join('\n'))
    this.problems = problems
  }
}

/** Reads all `settings` from `environment`. A setting with a problem has its fallback among the values. */
export function readSettings<Settings extends Record<string, Setting<unknown>>>(
  settings: Settings,
  environment: Readonly<Record<string, string | undefined>>,
): { values: Values<Settings>; problems: SettingProblem[] } {
  const problems: SettingProblem[] = []
  const values = Object.entries(settings).map(([variable, { schema, expected, fallback, problemOf }]) => {
    const text = environment[variable]?.trim()
    if (text === undefined || text === '') return [variable, fallback]
    const { success, data } = schema.safeParse(text)
    if (!success) problems.push({ variable, expected: problemOf?.(text) ?? `expected ${expected}` })
    return [variable, success ? data : fallback]
  })
  return { values: Object.fromEntries(values), problems }
}

/** A problem for each variable that is set although its setting is gone. `gone`: what to do, by the variable. */
export const goneSettings = (
  gone: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string | undefined>>,
): SettingProblem[] =>
  Object.entries(gone)
    .filter(([variable]) => environment[variable]?.trim())
    .map(([variable, expected]) => ({ variable, expected }))

/** A schema for text that `read` understands; `read` answers undefined for other text. */
export const readBy = <Value extends string | object>(read: (text: string) => Value | undefined): z.ZodType<Value> =>
  z.preprocess(
    (text) => read(String(text)),
    z.custom<Value>((value) => value !== undefined),
  )

/** A whole number within bounds. */
export const integer = (
  meaning: string,
  { fallback, min, max, among }: { fallback: number; min: number; max: number; among?: readonly number[] },
): Setting<number> => ({
  meaning,
  expected: among ? `one of ${among.join(', ')}` : `a whole number from ${min} to ${max}`,
  fallback,
  schema: wholeNumber(min, max).refine((number) => among?.includes(number) ?? true),
})

/** A schema for decimal digits. */
export const wholeNumber = (min: number, max: number): z.ZodType<number> =>
  z.preprocess((text) => (/^\d{1,15}$/.test(String(text)) ? Number(text) : Number.NaN), z.number().min(min).max(max))

/** A port; none when left out. */
export const port = (meaning: string): Setting<number | undefined> => ({
  ...integer(meaning, { fallback: 0, min: 1, max: 65_535 }),
  fallback: undefined,
})

/** The one of the words that is there, in capitals or small letters. */
const word = <Word extends string>(words: readonly Word[]): z.ZodType<Word> =>
  readBy((text) => words.find((each) => each.toLowerCase() === text.toLowerCase()))

/** `true` or `false`. */
export const flag = (meaning: string, fallback: boolean): Setting<boolean> => ({
  meaning,
  expected: 'true or false',
  fallback,
  schema: word(['true', 'false']).transform((text) => text === 'true'),
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
  schema: word(words),
})

interface TextRule {
  readonly expected: string
  readonly test: (text: string) => boolean
  /** What is wrong with this text, without repeating it. */
  readonly problemOf?: (text: string) => string | undefined
}

/** One line. Quotes around it and variables in it were meant for a shell, which has not read them. */
const line: TextRule = {
  expected: 'text in one line, without quotes around it and variables in it',
  test: (text) => !/\p{Cc}|\$\{/u.test(text) && !/^(["'`]).*\1$/.test(text),
}

/** The rule for secrets, which are taken as they stand. */
export const anyTextRule: TextRule = { expected: 'text', test: () => true }

/** Text that follows the rule; one line without one. */
export const text = <Fallback extends string | undefined>(
  meaning: string,
  fallback: Fallback,
  { test, ...rule }: TextRule = line,
): Setting<string | Fallback> => ({ meaning, ...rule, fallback, schema: z.string().refine(test) })

/** The rule for text that `parse` can read. Its errors say what is wrong, and repeat nothing of the text. */
export function readableBy(parse: (text: string) => unknown, expected: string): TextRule {
  const problemOf = (text: string): string | undefined => {
    try {
      parse(text)
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }
  const isForm = (problem: string | undefined) => problem?.includes(expected.slice(0, 24))
  return {
    expected,
    test: (text) => problemOf(text) === undefined,
    // Some problems say no more than which forms there are.
    problemOf: (text) => (isForm(problemOf(text)) ? undefined : problemOf(text)),
  }
}

/** An http or https origin in the spelling of browsers: scheme, host and port, and nothing behind them. */
export const originSchema = readBy((text) => {
  if (!URL.canParse(text)) return undefined
  const { protocol, username, search, hash, pathname, origin } = new URL(text)
  return /^https?:$/.test(protocol) && pathname === '/' && !username && !search && !hash ? origin : undefined
})

/** An http or https origin. */
export const origin = (meaning: string): Setting<string | undefined> => ({
  meaning,
  expected: 'an origin such as https://auth.example.com',
  fallback: undefined,
  schema: originSchema,
})

/** An http or https URL without login, parameters and fragment. Kept as written. */
export const url = (meaning: string): Setting<string | undefined> =>
  text(meaning, undefined, {
    expected: 'a URL beginning with http:// or https://, without login and parameters',
    test: (value) => {
      if (!URL.canParse(value)) return false
      const { protocol, username, password } = new URL(value)
      return /^https?:$/.test(protocol) && username + password === '' && !/[?#\s]/.test(value)
    },
  })

const partsOf = (text: unknown): string[] =>
  String(text)
    .split(',')
    .map((part) => part.trim())

/** One or two secrets, comma-separated. The first is used; the second is still accepted while secrets are rotated. */
export const secrets = (meaning: string, rule: TextRule): Setting<readonly string[] | undefined> => ({
  meaning,
  expected: `${rule.expected}, or two of them with a comma between`,
  fallback: undefined,
  schema: z.preprocess(partsOf, z.array(z.string().refine(rule.test)).max(2)),
})

/** A comma-separated list without repetitions; `part` reads each of its parts. */
export const listOf = <Part>(
  meaning: string,
  { expected, fallback, part }: { expected: string; fallback: readonly Part[]; part: z.ZodType<Part> },
): Setting<readonly Part[]> => ({
  meaning,
  expected,
  fallback,
  schema: z.preprocess(
    partsOf,
    z.array(part).refine((parts) => new Set(parts).size === parts.length),
  ),
})

/** A number of events in a number of seconds. */
export interface Rate {
  readonly count: number
  readonly seconds: number
}

/** `count/seconds`. */
export const rate = (meaning: string, fallback: Rate): Setting<Rate> => ({
  meaning,
  expected: 'count/seconds, such as 10/900',
  fallback,
  schema: readBy((value) => {
    const [, count, seconds] = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(value) ?? []
    return count === undefined ? undefined : { count: Number(count), seconds: Number(seconds) }
  }),
})
