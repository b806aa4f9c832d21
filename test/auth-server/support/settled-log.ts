import { type ChainedLog, type ChainedLogPorts, createChainedLog } from '../../../auth-server/audit/chained-log.ts'

/** The audit log, whose entries are in the chain as soon as they are recorded. */
export function createSettledLog(ports: ChainedLogPorts): ChainedLog {
  const log = createChainedLog(ports)
  const settled =
    <Parameters extends unknown[], Result>(record: (...parameters: Parameters) => Promise<Result>) =>
    async (...parameters: Parameters): Promise<Result> => {
      const result = await record(...parameters)
      await log.settle()
      return result
    }
  return {
    ...log,
    record: settled(log.record),
    recordRefusal: settled(log.recordRefusal),
    recordOnce: settled(log.recordOnce),
  }
}
