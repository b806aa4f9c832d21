/** A process of the embedded engine's test: tells of each row once it is acknowledged, until it is killed. */
import { openEmbeddedEngine } from '../../../../shared/platform/embedded/embedded.ts'

const database = (await openEmbeddedEngine(process.argv[2] ?? '')).database()
await database.query('create table if not exists mark (n int primary key)')
for (let n = 1; ; n++) {
  await database.query('insert into mark values ($1)', [n])
  process.send?.(n)
}
