/** The files that pages of the console load. */
import { join } from 'node:path'
import { projectFolder } from '../../shared/platform/project-folder.ts'
import { createAssets } from '../../shared/server/html/assets.ts'
import { pageAssetFolder } from '../../shared/server/html/page-assets.ts'

const ownFolder = () => join(projectFolder, 'console/assets')

const folders = {
  'console.css': ownFolder,
  'console.js': ownFolder,
  'views.js': ownFolder,
  'live.js': ownFolder,
  'secret.js': ownFolder,
  'reset-code.js': ownFolder,
  'second-factor.js': ownFolder,
  'follow.js': ownFolder,
  'pages.css': pageAssetFolder,
  'keyhold.svg': pageAssetFolder,
}

/** The name of a file that a page loads. */
export type AssetName = keyof typeof folders

/** The files. */
export const consoleAssets = createAssets(folders)
