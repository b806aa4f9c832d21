/** The files of the pages for developers: our own, and those of Swagger UI. */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { projectFolder } from '../../platform/project-folder.ts'
import { createAssets } from './assets.ts'

/** The folder of our own files. */
export const pageAssetFolder = () => join(projectFolder, 'shared/server/html/assets')
const swaggerUiFolder = () => dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

const folders = {
  'pages.css': pageAssetFolder,
  'docs.js': pageAssetFolder,
  'keyhold.svg': pageAssetFolder,
  'swagger-ui.css': swaggerUiFolder,
  'swagger-ui-bundle.js': swaggerUiFolder,
}

/** The name of a file that pages for developers load. */
export type PageAsset = keyof typeof folders

/** The files. */
export const pageAssets = createAssets(folders)
