import { type AccessTokenAlg, accessTokenAlgs } from '../../shared/protocol/access-token/access-token.ts'

/** The settings of a run, from variables of the environment. */
export interface Settings {
  readonly rounds: number
  /** The length of one turn. */
  readonly seconds: number
  /** Deals in the database. */
  readonly deals: number
  /** Requests after which memory is measured. */
  readonly requests: number
  /** Connections of the load. */
  readonly clients: number
  /** Users who call, each with credentials of its own; the connections send their requests in turn. */
  readonly callers: number
  /** What access tokens are signed with: the `JWT_ALG` of the auth server and of the peers. */
  readonly jwtAlg: AccessTokenAlg
  /** The first port for servers. */
  readonly firstPort: number
  readonly databaseUrl: string
  readonly redisUrl: string
  /** The folder of another build, which is measured beside this one. */
  readonly formerBuild: string | undefined
}

/** Variable → its default and meaning, as `--help` shows them. */
export const variables = {
  BENCH_DATABASE_URL: ['postgres://postgres@127.0.0.1:5432/postgres', 'PostgreSQL; its user may create databases'],
  BENCH_REDIS_URL: ['redis://127.0.0.1:6379', 'a Redis that no running Keyhold uses'],
  BENCH_ROUNDS: ['21', 'rounds of each comparison'],
  BENCH_SECONDS: ['1', 'length of one turn'],
  BENCH_DEALS: ['100000', 'deals in the database'],
  BENCH_REQUESTS: ['100000', 'requests after which memory is measured'],
  BENCH_CLIENTS: ['32', 'connections of the load'],
  BENCH_CALLERS: ['64', 'users who call; not fewer than connections'],
  BENCH_JWT_ALG: ['RS256', 'what access tokens are signed with: RS256, ES256 or EdDSA'],
  BENCH_PORT: ['21000', 'the first port that servers listen on; connections of the system begin at 32768'],
  BENCH_FORMER_BUILD: ['', 'dist/ of another checkout, which is then measured beside this one instead of the floors'],
} as const

type Variable = keyof typeof variables

/** Reads the settings. */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const text = (name: Variable) => environment[name] ?? variables[name][0]
  const number = (name: Variable) => Number(text(name))
  return {
    rounds: number('BENCH_ROUNDS'),
    seconds: number('BENCH_SECONDS'),
    deals: number('BENCH_DEALS'),
    requests: number('BENCH_REQUESTS'),
    clients: number('BENCH_CLIENTS'),
    callers: Math.max(number('BENCH_CALLERS'), number('BENCH_CLIENTS')),
    jwtAlg: accessTokenAlgs.find((alg) => alg === text('BENCH_JWT_ALG')) ?? 'RS256',
    firstPort: number('BENCH_PORT'),
    databaseUrl: text('BENCH_DATABASE_URL'),
    redisUrl: text('BENCH_REDIS_URL'),
    formerBuild: text('BENCH_FORMER_BUILD') || undefined,
  }
}
