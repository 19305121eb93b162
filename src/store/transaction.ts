// Open transactions of the store, as core passes them from one port to another.

declare const openTransaction: unique symbol

/** An open transaction. Opaque: only the store that opened or adopted it knows what it is. */
export interface StoreTransaction {
  readonly [openTransaction]: true
}

export interface TransactionOptions {
  /** May take as long as it needs, even where it holds the only connection: migrations. Defaults to false. */
  readonly unbounded?: boolean
  /**
   * It holds statements of regrow's own alone: it is READ COMMITTED, whatever the default of the role or the database is. A user's
   * transaction has the isolation that the user's database gives it. Defaults to false.
   */
  readonly own?: boolean
  /**
   * Called when it has its connection, with what closes that at once and fails whatever waits for it. Never called where the
   * store could not make another one.
   */
  readonly opened?: ((abandon: (why: Error) => void) => void) | undefined
}
