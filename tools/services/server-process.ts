// What the server files need from a running server, whether it is a program on this machine or a Docker container.

export interface ServerProcess {
  /** Undefined before the first start. Changes with a restart. */
  readonly pid: number | undefined
  isRunning(): Promise<boolean>
  /** The last lines of its output, for error messages. */
  logTail(): Promise<string>
  start(): Promise<void>
  /** Sends a signal and waits until the process is gone. The default is the server's own stop signal. */
  stop(signal?: NodeJS.Signals): Promise<void>
  /** Sends a signal that ends nothing. */
  signal(signal: NodeJS.Signals): Promise<void>
  /** Ends the server for good. */
  remove(): Promise<void>
}
