// A page of pending rows that stays inside the database server. A source describes it, and a queue in the same server turns it
// into hints without sending a key to the client. Core only passes it on.

declare const serverPage: unique symbol

/** A page of pending rows, described for the server. Opaque: only the driver that made it can read it. */
export interface ServerPage {
  readonly [serverPage]: true
}
