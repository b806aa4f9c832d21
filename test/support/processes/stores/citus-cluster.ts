/** A coordinator and two workers with Citus, of a test's own. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findPostgresBinaries, PostgresServer } from './postgres-server.ts'

const root = join(import.meta.dirname, '../../../..')
const builds = [join(root, '../shared/citus/install.sh')]
const binaries = findPostgresBinaries()

/** Why there can be no cluster here; undefined when there can. Installs a build that lies beside the repository. */
export function missingForCitus(): string | undefined {
  if (binaries === undefined) return 'PostgreSQL is not installed'
  const isInstalled = () => existsSync(join(dirname(binaries), 'lib/citus.so'))
  const build = builds.find((file) => existsSync(file))
  if (!isInstalled() && build !== undefined && process.getuid?.() === 0) {
    execFileSync('sh', [build], { stdio: 'ignore' })
  }
  return isInstalled() ? undefined : 'Citus is not installed'
}

const settings = {
  shared_preload_libraries: 'citus',
  wal_level: 'logical',
  'citus.node_conninfo': 'sslmode=disable',
  max_worker_processes: '32',
  max_replication_slots: '20',
  max_wal_senders: '20',
}

/** Its nodes are PostgreSQL servers with Citus. */
export interface CitusCluster {
  readonly coordinator: PostgresServer
  readonly workers: readonly PostgresServer[]
  /** One more node, with a database of this name, that has no rows yet. `remove` ends it too. */
  addNode(database: string): Promise<PostgresServer>
  /** A standby of a worker, for which commits there wait. `remove` ends it too. */
  addStandby(worker: PostgresServer): Promise<PostgresServer>
  /** A copy of a node that follows it up to a restore point, and goes on alone from there. `remove` ends it too. */
  copyUpTo(restorePoint: string, node: PostgresServer): Promise<PostgresServer>
  /** Makes a database of this name on all nodes; the tables of deals are yet to be made and spread. */
  createDatabase(name: string): Promise<string>
  remove(): Promise<void>
}

/** Starts the nodes. `remove` must be called in the end. */
export async function startCitusCluster(): Promise<CitusCluster> {
  const nodes: PostgresServer[] = []
  const startNode = async () => {
    const node = await PostgresServer.create(binaries ?? '', settings)
    nodes.push(node)
    return node
  }
  const makeDatabase = async (node: PostgresServer, name: string) => {
    await node.query(`create database ${name}`)
    await node.query('create extension citus', name)
  }
  const coordinator = await startNode()
  const joinNode = ({ port }: PostgresServer, database: string) =>
    coordinator.query(`select citus_add_node('127.0.0.1', ${port})`, database)
  const workers = [await startNode(), await startNode()]
  return {
    coordinator,
    workers,
    addNode: async (database) => {
      const node = await startNode()
      await makeDatabase(node, database)
      await joinNode(node, database)
      return node
    },
    addStandby: async (worker) => {
      const standby = await worker.makeStandby('standby', settings)
      nodes.push(standby)
      await worker.configure({ synchronous_standby_names: 'standby' })
      return standby
    },
    copyUpTo: async (restorePoint, node) => {
      const target = { recovery_target_name: restorePoint, recovery_target_action: 'promote' }
      const copy = await node.makeStandby('copy', { ...settings, ...target })
      nodes.push(copy)
      return copy
    },
    createDatabase: async (name) => {
      for (const node of [coordinator, ...workers]) await makeDatabase(node, name)
      await coordinator.query(`select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`, name)
      for (const worker of workers) await joinNode(worker, name)
      return `${coordinator.urlOf(name)}?plan_cache_mode=auto`
    },
    remove: async () => {
      for (const node of nodes) await node.remove()
    },
  }
}

/** The SQL for operators. */
export const citusSql = (name: 'distribute' | 'after-restore'): string =>
  readFileSync(join(root, `deploy/citus/${name}.sql`), 'utf8')
