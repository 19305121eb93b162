// The store keeps its rules behind PgBouncer in session mode, where sessions are SERIALIZABLE.
import { profiles } from '../services/profiles.ts'
import { declareCases } from './declare-cases.ts'
import { profileStoreSuite } from './postgres-subject.ts'

const suite = profileStoreSuite(profiles.sessionPooler)
// Every third: each statement is in many cases, and all of them run on the other profiles.
declareCases(suite.filter((_, n) => n % 3 === 0))
