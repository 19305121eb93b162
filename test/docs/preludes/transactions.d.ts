// Names that the fragments of docs/transactions.md use.
declare const regrow: typeof import('regrow').regrow
declare const sql: typeof import('regrow').sql
declare const postgres: typeof import('regrow/postgres').postgres
declare const pg: typeof import('pg').default
declare const url: string
declare const invoices: { close(client: import('pg').PoolClient, id: bigint): Promise<void> }
