/** `ops services …`: credentials of services (docs/contract/services.md). Works over HTTP, as an administrator. */
import type { Command } from 'commander'
import type { AuthComponents } from '../../../client/src/index.ts'
import { type Report, type ReportAction, table } from '../../../shared/platform/terminal/report.ts'
import { type AdminClient, allOf, segment, type WithAdmin } from '../http/admin-client.ts'
import { withExample } from '../terminal/help.ts'
import { overlapSecondsOf } from '../terminal/overlap.ts'

/** Services that the commands use. */
export interface ServiceCommandPorts {
  readonly withAdmin: WithAdmin
  readonly report: ReportAction
}

type Service = AuthComponents['schemas']['Service']

const exampleId = '0199a2f0-5d1e-7c3a-9f00-2b6a1d9c4e11'

/** Adds the group to the program. */
export function addServiceCommands(program: Command, { withAdmin, report }: ServiceCommandPorts): void {
  const services = program.command('services').description('credentials of services, which check callers themselves')
  const adding = services
    .command('add <name>')
    .description('make a credential; its secret is shown once')
    .requiredOption('--resource-server <id>', 'the resource server that the service belongs to')
    .action(
      report((name: string, { resourceServer }: { resourceServer: string }) =>
        withAdmin((admin) => add(admin, { name, resourceServer })),
      ),
    )
  withExample(adding, 'services add ledger --resource-server deals')
  const listing = services
    .command('list')
    .description('all services')
    .option('--resource-server <id>', 'of this resource server alone')
    .action(
      report(({ resourceServer }: { resourceServer?: string }) => withAdmin((admin) => listAll(admin, resourceServer))),
    )
  withExample(listing, 'services list', 'services list --resource-server deals --json')
  const rotating = services
    .command('rotate <id>')
    .description('give a service a new secret, which is shown once; the former one works on for a while')
    .option('--overlap <time>', 'how long the former one is accepted too (12h, 7d; 0h: not at all)', '1d')
    .action(
      report(async (id: string, { overlap }: { overlap: string }) => {
        const overlapSeconds = overlapSecondsOf(overlap)
        return withAdmin((admin) => rotate(admin, id, overlapSeconds))
      }),
    )
  withExample(rotating, `services rotate ${exampleId} --overlap 7d`)
  const removing = services
    .command('remove <id>')
    .description('delete a service: within a second its secret and its tokens are refused')
    .action(report((id: string) => withAdmin((admin) => remove(admin, id))))
  withExample(removing, `services remove ${exampleId}`)
}

async function add({ auth }: AdminClient, body: { readonly name: string; readonly resourceServer: string }) {
  const { data: service } = await auth.POST('/services', { body })
  const text = `The service ${service.name} was made.\nId: ${service.id}\nSecret, shown only now: ${service.secret}`
  return { json: service, text }
}

async function listAll({ auth }: AdminClient, resourceServer: string | undefined): Promise<Report> {
  const query = { limit: 200, ...(resourceServer !== undefined && { resourceServer }) }
  const services = await allOf(auth.items('/services', { params: { query } }))
  return { json: services, text: table(titles, services.map(rowOf)) }
}

const titles = ['ID', 'NAME', 'RESOURCE SERVER', 'FORMER SECRET', 'LAST USED']

const rowOf = ({ id, name, resourceServer, formerUntil, lastUsedAt }: Service): string[] => [
  id,
  name,
  resourceServer,
  formerUntil === null ? '-' : `until ${formerUntil}`,
  lastUsedAt ?? '-',
]

async function rotate({ auth }: AdminClient, id: string, overlapSeconds: number): Promise<Report> {
  const params = { path: { id: segment(id) } }
  const { data: service } = await auth.POST('/services/{id}/rotate', { params, body: { overlapSeconds } })
  const { name, formerUntil, secret } = service
  const former = formerUntil === null ? 'is refused from now on' : `is accepted until ${formerUntil}`
  const text = `The service ${name} has a new secret; the former one ${former}.\nSecret, shown only now: ${secret}`
  return { json: service, text }
}

async function remove({ auth }: AdminClient, id: string): Promise<Report> {
  await auth.DELETE('/services/{id}', { params: { path: { id: segment(id) } } })
  return { json: { id, removed: true }, text: `The service ${id} is deleted.` }
}
