/** A process of the lock test: tries for the folder it is told, at the moment it is told, and keeps what it got. */
import { FolderLocked, lockFolder } from '../../../../shared/platform/process/folder-lock.ts'

export interface Round {
  readonly folder: string
  /** Milliseconds since the Unix epoch. */
  readonly at: number
}

process.on('message', async ({ folder, at }: Round) => {
  await new Promise((resolve) => setTimeout(resolve, at - Date.now() - 5))
  while (Date.now() < at);
  const outcome = await lockFolder(folder).then(
    () => 'won',
    (error) => (error instanceof FolderLocked ? 'refused' : String(error)),
  )
  process.send?.(outcome)
})

process.send?.('ready')
