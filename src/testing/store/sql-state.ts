// The code of a database error, wherever the driver keeps it: on the error or on its cause.

/** The SQLSTATE of an error; undefined when it has none. */
export function sqlState(error: unknown): string | undefined {
  for (let each = error as { code?: unknown; cause?: unknown } | undefined; each; each = each.cause as never)
    if (typeof each.code === 'string' && /^[0-9A-Z]{5}$/.test(each.code)) return each.code
  return undefined
}
