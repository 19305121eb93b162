// The store keeps its rules where sessions behind PgBouncer are REPEATABLE READ and have odd settings, too.
import { profiles } from '../services/profiles.ts'
import { declareCases } from './declare-cases.ts'
import { profileStoreSuite } from './postgres-subject.ts'

const suite = profileStoreSuite(profiles.transactionPooler)
// Every third: each statement is in many cases, and all of them run on the other profiles.
declareCases(suite.filter((_, n) => n % 3 === 0))
