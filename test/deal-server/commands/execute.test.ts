import { describe, expect, it } from 'vitest'
import type { CommandRequest } from '../../../deal-server/commands/command-context.ts'
import { createExecuteCommand } from '../../../deal-server/commands/execute.ts'
import type {
  CommandRecord,
  CommitResult,
  DealCommit,
  DealRepository,
  Loaded,
} from '../../../deal-server/commands/ports.ts'
import { ReplayedRefusal } from '../../../deal-server/commands/replay.ts'
import type { Deal } from '../../../deal-server/domain/deal.ts'
import { commandNamed } from '../../../deal-server/use-cases/index.ts'
import { fakeSystems } from '../../support/fake-systems.ts'
import { pureDeal } from '../../support/worlds/pure-deals.ts'

/** A repository of one deal, whose commits come to `results` in turn, then to `committed`. */
function memoryRepository(deal: Deal, results: CommitResult[] = []) {
  const state: { deal: Deal; commands: CommandRecord[]; commits: DealCommit[]; loads: number } = {
    deal,
    commands: [],
    commits: [],
    loads: 0,
  }
  const repository: DealRepository = {
    load: async (_dealId, key): Promise<Loaded> => {
      state.loads += 1
      const command = state.commands.find((one) => one.key.commandId === key?.commandId)
      return { deal: state.deal, command, purged: false }
    },
    commit: async (commit) => {
      const result = results.shift() ?? 'committed'
      if (result !== 'committed') return result
      state.commits.push(commit)
      state.deal = commit.deal
      if (commit.command) state.commands.push(commit.command)
      return result
    },
    keepCommand: async (command) => {
      state.commands.push(command)
      return 'committed'
    },
    propose: async () => 'committed',
    findProposal: async () => undefined,
  }
  return { state, repository }
}

function executorFor(repository: DealRepository) {
  const principals = { get: () => undefined }
  const observeCommand = () => {}
  const systems = { ...fakeSystems(), repository, principals, defaultCurrency: 'EUR', observeCommand }
  const execute = createExecuteCommand(systems)
  return async (request: CommandRequest) => {
    const command = await execute(request)
    if ('proposal' in command) throw new TypeError('nobody proposes here')
    return command
  }
}

function requestFor(deal: Deal, more: Partial<CommandRequest> = {}, rights = ['deal.hold']): CommandRequest {
  const bound = commandNamed('HoldDeal')?.bind({ reason: 'test' }, '')
  if (!bound) throw new TypeError('there is HoldDeal')
  return {
    bound,
    dealId: deal.id,
    commandId: undefined,
    validateOnly: false,
    caller: {
      username: 'alice',
      userId: 'id of alice',
      roles: [],
      rights: new Set(rights),
      scheme: 'bearer',
      generation: 0,
      proposes: false,
      credential: {
        username: 'alice',
        generation: undefined,
        loginId: undefined,
        audience: null,
        expiresAt: undefined,
      },
    },
    style: 'any',
    requestId: 'request',
    traceId: 'trace',
    requirePrecondition: () => undefined,
    ...more,
  }
}

describe('a command without HTTP', () => {
  it('is decided again when another process was first', async () => {
    const { state, repository } = memoryRepository(pureDeal('OPEN'), ['version-lost', 'version-lost'])
    const answered = await executorFor(repository)(requestFor(state.deal, {}, ['deal.hold', 'deal.read']))
    expect(state.loads).toBe(3)
    expect(state.commits).toHaveLength(1)
    expect(answered).toMatchObject({ changed: true, replayed: false, shown: { deal: { held: true } } })
  })

  it('shows nothing of the deal to a caller who may not read deals', async () => {
    const { state, repository } = memoryRepository(pureDeal('OPEN'))
    const { shown, deal } = await executorFor(repository)(requestFor(state.deal))
    expect(shown).toBeUndefined()
    expect(Object.keys(deal).sort()).toEqual(['deletedAt', 'id', 'version'])
  })

  it('runs once under one id, and is replayed afterwards', async () => {
    const { state, repository } = memoryRepository(pureDeal('OPEN'))
    const execute = executorFor(repository)
    const request = requestFor(state.deal, { commandId: 'c1' })
    expect((await execute(request)).replayed).toBe(false)
    expect(await execute(request)).toMatchObject({ changed: true, replayed: true })
    expect(state.commits).toHaveLength(1)
  })

  it('is replayed to a copy of its signed request, unless the caller has lost the right since', async () => {
    const { state, repository } = memoryRepository(pureDeal('OPEN'))
    const execute = executorFor(repository)
    const copyOf = (rights: string[], isReused: boolean): CommandRequest => {
      const request = requestFor(state.deal, { commandId: 'c1' }, rights)
      const signature = { digest: 'digest', usedAt: 0, isReused }
      const { caller } = request
      return { ...request, caller: { ...caller, credential: { ...caller.credential, signature } } }
    }
    expect((await execute(copyOf(['deal.hold'], false))).replayed).toBe(false)
    expect((await execute(copyOf(['deal.hold'], true))).replayed).toBe(true)
    await expect(execute(copyOf(['deal.read'], true))).rejects.toMatchObject({ code: 'missing-right' })
    expect(state.commits).toHaveLength(1)
  })

  it('replays a refusal and marks it as a replay; a caller sees no more of it than before', async () => {
    const { state, repository } = memoryRepository(pureDeal('COMPLETED'))
    const execute = executorFor(repository)
    const request = requestFor(state.deal, { commandId: 'c1' })
    const first = await execute(request).catch((error: unknown) => error)
    expect(first).toMatchObject({ code: 'deal-closed', members: { final: true, useCase: 'HoldDeal' } })
    expect(first).not.toBeInstanceOf(ReplayedRefusal)
    const again = await execute(request).catch((error: unknown) => error)
    expect(again).toBeInstanceOf(ReplayedRefusal)
    expect(again).toMatchObject({ code: 'deal-closed', members: (first as ReplayedRefusal).members })
    expect((first as ReplayedRefusal).members).not.toHaveProperty('currentStatus')
  })

  it('is refused, and not decided again, when another deal has a value that only one may have', async () => {
    const { state, repository } = memoryRepository(pureDeal('OPEN'), ['value-taken'])
    const refused = executorFor(repository)(requestFor(state.deal, { commandId: 'c1' }))
    await expect(refused).rejects.toMatchObject({ code: 'invalid-value' })
    expect([state.loads, state.commits, state.commands]).toEqual([1, [], []])
  })

  it('writes nothing in a dry run', async () => {
    const { state, repository } = memoryRepository(pureDeal('OPEN'))
    const execute = executorFor(repository)
    const dry = { commandId: 'c1', validateOnly: true }
    expect((await execute(requestFor(state.deal, dry, ['deal.hold', 'deal.read']))).changed).toBe(true)
    await expect(execute(requestFor(state.deal, dry))).rejects.toMatchObject({ code: 'missing-right' })
    expect([state.commits, state.commands]).toEqual([[], []])
  })

  it('is decided only when its precondition holds', async () => {
    const { state, repository } = memoryRepository(pureDeal('OPEN'))
    const requirePrecondition = (deal: Deal | undefined, isTaken: boolean) => {
      throw new TypeError(`${deal?.version} ${isTaken}`)
    }
    await expect(executorFor(repository)(requestFor(state.deal, { requirePrecondition }))).rejects.toThrow(
      `${state.deal.version} true`,
    )
    expect(state.commits).toEqual([])
  })
})
