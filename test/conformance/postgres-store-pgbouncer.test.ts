// The store on Postgres keeps every rule of a store behind PgBouncer in transaction mode, too.
import { postgres } from '../../src/drivers/postgres/index.ts'
import { declareCases } from './declare-cases.ts'
import { postgresStoreSuite } from './postgres-subject.ts'

declareCases(postgresStoreSuite(({ bouncerUrl }) => postgres(bouncerUrl)))
