import { join } from 'node:path'
import { inject } from 'vitest'

/** The compiled form (`compile.ts`) of a TypeScript file, which is named as from the project's folder: for `node`. */
export const compiled = (file: string): string => join(inject('compiled'), file.replace(/\.ts$/, '.js'))
