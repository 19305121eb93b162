// regrow/testing: the coverage contract in users' tests (docs/coverage.md), and what a driver has to keep, for authors of queues
// and stores (docs/testing.md).
export { type ExpectCoverageOptions, expectCoverage } from './expect-coverage.ts'
export { postgresDatabase } from './postgres-database.ts'
export type { QueueContext } from './queue/context.ts'
export { type QueueSubject, queueCases, queueSuite } from './queue-suite.ts'
export type { StoreContext } from './store/context.ts'
export type { StoreDatabase } from './store-database.ts'
export { type StoreSubject, storeCases, storeSuite } from './store-suite.ts'
export type { Case, RunnableCase, Skip } from './suite.ts'
