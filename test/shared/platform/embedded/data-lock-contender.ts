/** A process of the lock test: tries for the folder it is told, at the moment it is told, and keeps what it got. */
import { DataFolderLocked, lockDataFolder } from '../../../../shared/platform/embedded/data-lock.ts'

export interface Round {
  readonly folder: string
  /** Milliseconds since the Unix epoch. */
  readonly at: number
}

process.on('message', async ({ folder, at }: Round) => {
  await new Promise((resolve) => setTimeout(resolve, at - Date.now() - 5))
  while (Date.now() < at);
  const outcome = await lockDataFolder(folder).then(
    () => 'won',
    (error) => (error instanceof DataFolderLocked ? 'refused' : String(error)),
  )
  process.send?.(outcome)
})

process.send?.('ready')
