// What the process says of where it runs. The only reader of environment variables in the library; the CLI has its own.
import { hostname } from 'node:os'

/** In production a schema is migrated by a step of the deploy, not by whoever starts first. */
export const isProduction = (): boolean => process.env.NODE_ENV === 'production'

/** Host and process, for people; identity is a random number made per worker. */
export const whereabouts = (): { host: string; pid: number } => ({ host: hostname(), pid: process.pid })
