/** Further files to compile, and the folders of what they import. */
export interface CompileOptions {
  readonly further?: readonly string[]
  readonly furtherFolders?: readonly string[]
  /** Called before something is compiled. */
  readonly onCompile?: () => void
}

/** The folder with the compiled form of the project's files: see `compiled.mjs`. */
export function compiledFolder(options?: CompileOptions): Promise<string>
