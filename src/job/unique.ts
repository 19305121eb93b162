// Unique texts of intents, as they are stored: those of users and those of regrow never meet. A user's text is stored as it is, so
// that rows of other versions are understood; only one that reads like regrow's own gets a backslash in front.

const ownLike = /^\\*schedule /

/** Keeps inputs that a schedule hands over apart: one of them waits or runs at a time. SQL knows it: look-schedules.sql, stale-schedules.sql. */
export const uniqueOfSchedule = (name: string): string => `schedule ${name}`

/** A user's text, as it is stored. */
export const storedUnique = (text: string): string => (ownLike.test(text) ? `\\${text}` : text)

/** A stored text, as its user wrote it. */
export const shownUnique = (stored: string): string => (/^\\+schedule /.test(stored) ? stored.slice(1) : stored)
