// The store keeps every rule on a pool of the user's whose sessions are REPEATABLE READ and have an empty search_path.
import { profiles } from '../services/profiles.ts'
import { declareCases } from './declare-cases.ts'
import { profileStoreSuite } from './postgres-subject.ts'

declareCases(profileStoreSuite(profiles.repeatableRead))
