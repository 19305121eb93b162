// What is run of the queue suite where only the client is another one: the scripts on the server are the same.
import type { RunnableCase } from '../../src/testing/index.ts'

/** Replies of every kind, waiting, ending, bytes: where a client can be wrong. */
export const isOfConnections = ({ name }: RunnableCase): boolean =>
  /waiting pop|byte for byte|in numbers of any size|after a close|under way|wipe destroys|another epoch/.test(name)
