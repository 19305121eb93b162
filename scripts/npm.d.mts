// The types of npm.mjs.

/** Runs npm and answers its stdout. `show` prints its output as it comes. */
export function npm(
  args: string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv; show?: boolean; onSpawn?: (pid: number) => void },
): Promise<string>
