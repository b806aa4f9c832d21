/**
 * `keyhold deals hold`, `create` …: a command for each use case of the registry, with an option for each of its
 * parameters (docs/contract/operators.md#command-line).
 */
import { randomUUID } from 'node:crypto'
import { type Command, Option } from 'commander'
import * as z from 'zod'
import type { DealComponents } from '../../client/src/index.ts'
import type { Command as UseCase } from '../../deal-server/use-cases/define-use-case.ts'
import { commands } from '../../deal-server/use-cases/index.ts'
import { parseJson } from '../../shared/platform/json.ts'
import { type Report, WrongUsage } from '../../shared/platform/terminal/report.ts'
import type { CallerPorts } from '../context/ports.ts'

type Schemas = DealComponents['schemas']

/** What every command has besides its parameters. */
interface CommandOptions {
  readonly id?: string
  readonly ifMatch?: string
  readonly dryRun?: boolean
  readonly params?: string
}

/** A parameter of a use case, as its schema says. */
interface Parameter {
  readonly name: string
  readonly flag: string
  readonly description: string
  readonly isRequired: boolean
  readonly isNullable: boolean
  readonly isBoolean: boolean
  readonly isNumber: boolean
  readonly choices: readonly string[] | undefined
}

/** Adds a command for each use case. */
export function addDealCommands(deals: Command, ports: CallerPorts): void {
  for (const useCase of commands) addCommand(deals, useCase, ports)
}

function addCommand(deals: Command, useCase: UseCase, ports: CallerPorts): void {
  const command = deals.command(useCase.verb).description(useCase.summary)
  const takesDeal = useCase.target === 'deal'
  if (takesDeal) command.argument('<deal>', 'the id of the deal')
  const parameters = parametersOf(useCase)
  for (const parameter of parameters) for (const option of optionsOf(parameter)) command.addOption(option)
  command
    .option('--params <json>', 'further parameters, as a JSON object')
    .option('--id <command>', 'the id of the command: the same one sent again does nothing twice')
    .option('--if-match <etag>', 'only if the deal has this ETag, such as 3')
    .option('--dry-run', 'check, and change nothing')
  const run = ports.report((deal: string | undefined, options: CommandOptions) =>
    execute({ useCase, deal, options, parameters }, ports),
  )
  command.action(
    takesDeal
      ? (deal: string, options: CommandOptions) => run(deal, options)
      : (options: CommandOptions) => run(undefined, options),
  )
}

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** The deal's id of a creation is `--deal`, because `--id` is the command's. */
const flagOf = (name: string): string => (name === 'id' ? 'deal' : kebab(name))

const formSchema = z.looseObject({
  type: z.union([z.string().transform((type) => [type]), z.array(z.string())]).default([]),
  enum: z.array(z.string()).optional(),
  description: z.string().optional(),
})

const propertySchema = formSchema.extend({ anyOf: z.array(formSchema).optional() })

/** Reads the parameters from the schema of a use case. */
export function parametersOf({ params }: UseCase): Parameter[] {
  const { properties, required = [] } = z
    .object({ properties: z.record(z.string(), propertySchema), required: z.array(z.string()).optional() })
    .parse(z.toJSONSchema(params, { io: 'input', unrepresentable: 'any' }))
  return Object.entries(properties).map(([name, schema]) => {
    const forms = schema.anyOf ?? [schema]
    const types = forms.flatMap(({ type }) => type)
    return {
      name,
      flag: flagOf(name),
      description: describe(schema, forms),
      isRequired: required.includes(name),
      isNullable: types.includes('null'),
      isBoolean: types.includes('boolean'),
      isNumber: !types.includes('string') && types.some((type) => type === 'number' || type === 'integer'),
      choices: forms.find((form) => form.enum)?.enum,
    }
  })
}

function describe(schema: z.infer<typeof propertySchema>, forms: readonly Record<string, unknown>[]): string {
  const texts = [schema, ...forms].map(({ description }) => description).filter((text) => text !== undefined)
  return String(texts[0] ?? '')
}

function optionsOf({ flag, description, isRequired, isNullable, isBoolean, choices }: Parameter): Option[] {
  const option = new Option(isBoolean ? `--${flag}` : `--${flag} <value>`, description)
  if (choices) option.choices([...choices])
  // With --params, a required parameter may be there.
  if (isRequired) option.description = `${description || flag} (needed)`
  return isNullable || isBoolean
    ? [option, new Option(`--no-${flag}`, isNullable ? `no ${flag}` : `not ${flag}`)]
    : [option]
}

interface Execution {
  readonly useCase: UseCase
  readonly deal: string | undefined
  readonly options: CommandOptions
  readonly parameters: readonly Parameter[]
}

async function execute(execution: Execution, { connect }: CallerPorts): Promise<Report> {
  const { useCase, deal, options } = execution
  const params = paramsOf(execution)
  const commandId = options.id ?? randomUUID()
  const body = { action: useCase.name, params, ...(deal !== undefined && { deal }) } as Schemas['GlobalCommand']
  const header = options.ifMatch === undefined ? {} : { 'If-Match': entityTag(options.ifMatch) }
  const query = options.dryRun ? { validateOnly: 'true' as const } : {}
  const keyhold = await connect()
  const { data, response } = await keyhold.deals.PUT('/commands/{commandId}', {
    params: { path: { commandId }, header, query },
    body,
  })
  return { json: data, text: sentence(data, { isDryRun: options.dryRun === true, response }) }
}

const entityTag = (text: string): string => (/^\d+$/.test(text) ? `"${text}"` : text)

function paramsOf({ options, parameters, useCase }: Execution): Record<string, unknown> {
  const given = options as unknown as Record<string, unknown>
  const values = parameters.flatMap((parameter) => {
    const value = given[camel(parameter.flag)]
    return value === undefined ? [] : [[parameter.name, parameterValue(value, parameter)] as const]
  })
  const params = { ...jsonObject(options.params), ...Object.fromEntries(values) }
  const missing = parameters.filter(({ name, isRequired }) => isRequired && params[name] === undefined)
  if (missing.length === 0) return params
  throw new WrongUsage(`${useCase.verb} needs ${missing.map(({ flag }) => `--${flag}`).join(' and ')}.`)
}

const camel = (flag: string): string => flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

function parameterValue(value: unknown, { isBoolean, isNumber }: Parameter): unknown {
  if (value === false && !isBoolean) return null
  return isNumber && value !== '' && !Number.isNaN(Number(value)) ? Number(value) : value
}

function jsonObject(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {}
  try {
    return z.record(z.string(), z.unknown()).parse(parseJson(text))
  } catch {
    throw new WrongUsage('--params: expected a JSON object without a member twice.')
  }
}

function sentence(
  { action, deal, result }: Schemas['SucceededCommand'],
  { isDryRun, response }: { readonly isDryRun: boolean; readonly response: Response },
): string {
  if (isDryRun) return `${action} would succeed${result.changed ? '' : ', and would change nothing'}.`
  const replayed = response.headers.get('idempotent-replayed') === 'true' ? ' It had been done before.' : ''
  return `${action} on ${deal}: ${result.changed ? 'done' : 'nothing to change'}, version ${result.version}.${replayed}`
}
