// Names that the fragments of docs/postgres.md use.
declare const postgres: typeof import('regrow/postgres').postgres
declare const pg: typeof import('pg').default
declare const url: string
declare const client: import('pg').Client
declare const secrets: { get(name: string): Promise<string> }
