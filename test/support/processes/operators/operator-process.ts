/** The process behind `operator.ts`. */
import {
  generateKey,
  type KeyRingOperation,
  promoteKey,
  revokeKey,
  rotateKeys,
} from '../../../../auth-server/key-ring/operate-key-ring.ts'
import { systemClock } from '../../../../shared/platform/clock.ts'
import type { Order } from './operator.ts'

const [directory = '', speed = '1', tokenLifeMs = '0', maxAgeMs = '0'] = process.argv.slice(2)
const startedAt = systemClock.now()
const scaled = (milliseconds: number) => milliseconds * Number(speed)
const life = scaled(Number(tokenLifeMs))
const operation: KeyRingOperation = {
  directory,
  bits: 2048,
  rules: { maxAgeMs: scaled(Number(maxAgeMs)), longestTokenLifeMs: { jwt: life, 'key-signed': life } },
  clock: { ...systemClock, now: () => Math.round(startedAt + scaled(systemClock.now() - startedAt)) },
}

const carryOut = (order: Order): Promise<unknown> => {
  if (order.do === 'rotate') return rotateKeys(operation)
  if (order.do === 'generate') return generateKey(operation, order.use)
  if (order.do === 'promote') return promoteKey(operation, order.kid, { early: true })
  return revokeKey(operation, order.kid, 'a test')
}

process.on('message', (order: Order) => {
  const answer = (result: unknown) => process.send?.(result)
  carryOut(order).then(
    (result) => answer({ result: result ?? null }),
    (error: unknown) => answer({ error: String(error) }),
  )
})
process.on('disconnect', () => process.exit(0))
