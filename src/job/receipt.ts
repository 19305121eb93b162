// A hint that was handed out while it is still in the queue. Queue drivers make receipts, and the store that claims the hint's
// key redeems them: it saves a round trip where both live in one database. Core only passes them on.

declare const receipt: unique symbol

/** Proof that a hint is still in its queue. Opaque: only the driver that made it can read it. */
export interface Receipt {
  readonly [receipt]: true
}
