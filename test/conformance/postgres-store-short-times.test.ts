// The store keeps every rule where statements, waits for locks and idle transactions end soon.
import { profiles } from '../services/profiles.ts'
import { declareCases } from './declare-cases.ts'
import { profileStoreSuite } from './postgres-subject.ts'

declareCases(profileStoreSuite(profiles.shortTimes))
