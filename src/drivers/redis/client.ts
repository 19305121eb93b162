// What regrow needs of a Redis client, by shape: whoever gives a url needs no types of one, and each library has its own.
// A client that is given is never used itself: it may be subscribed, in a transaction, or map its replies. Its duplicates
// have the same settings, and they are ours to end.
import { messageOf } from '../../base/errors.ts'

/** A client of `@redis/client` or `redis`, from version 4 on: one server, a cluster or a Sentinel. Connected or not. */
export interface NodeRedisClient {
  sendCommand(...given: never[]): Promise<unknown>
  duplicate(...given: never[]): unknown
  connect(): Promise<unknown>
}

/** A client of `ioredis` or `iovalkey`: one server, Sentinel or a cluster. */
export interface IoRedisClient {
  call(...given: never[]): Promise<unknown>
  duplicate(...given: never[]): unknown
  readonly status: string
}

/** Where the server is: an address, or a function that answers it on first use. */
export type RedisUrl = string | (() => string | Promise<string>)

export type RedisGiven = RedisUrl | NodeRedisClient | IoRedisClient

/** A server's own words: they begin with a code in capitals. Everything else is an error of the connection. */
export const isAnswer = (error: unknown): boolean => /^[A-Z][A-Z0-9]+ /.test(messageOf(error))

/** F24: a connection to a server that was the primary has to be made anew, to find the one that is. */
export const isMisplaced = (error: unknown): boolean => /\b(READONLY|UNBLOCKED)\b/.test(messageOf(error))

/** A full server without eviction refuses what needs memory. */
export const isOutOfMemory = (error: unknown): boolean => /\bOOM command not allowed/.test(messageOf(error))

/** Of a connection that has not said its password the server reads nothing long: it calls our scripts broken protocol. */
export const isUnauthenticated = (error: unknown): boolean =>
  /^(NOAUTH|WRONGPASS)\b|\bunauthenticated (multi)?bulk length/.test(messageOf(error))

/** F27: a server that was restarted or promoted knows no script. */
export const isUnknownScript = (error: unknown): boolean => messageOf(error).startsWith('NOSCRIPT')
