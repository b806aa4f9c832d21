/** What the script that sends batches says. `#` stands for a number. */
import { bulkTexts as texts } from './lists.ts'

/** The texts of the script. */
export const batchTexts = {
  selected: texts.selected,
  noneSelected: texts.noneSelected,
  missing: texts.missing,
  running: texts.running,
  finished: texts.finished,
  failed: texts.failed,
  sessionEnded: texts.sessionEnded,
  again: texts.again,
  reload: texts.reload,
  progress: texts.progress,
  title: texts.resultTitle,
  done: texts.done,
  refused: texts.refused,
  changed: texts.changed,
}
