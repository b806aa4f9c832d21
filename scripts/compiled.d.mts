/** Further files to compile, and the folders of what they import. */
export interface CompileOptions {
  readonly further?: readonly string[]
  readonly furtherFolders?: readonly string[]
  /** Called before something is compiled. */
  readonly onCompile?: () => void
}

/** A copy of a compiled form below a folder of data: see `compiled.mjs`. */
export function ownPrograms(compiled: string, dataDir: string): string

/** The folder with the compiled form of the project's files: see `compiled.mjs`. */
export function compiledFolder(options?: CompileOptions): Promise<string>
