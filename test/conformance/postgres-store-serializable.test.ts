// The store keeps every rule where the database is SERIALIZABLE by default, and writes dates, numbers and bytes in odd forms.
import { profiles } from '../services/profiles.ts'
import { declareCases } from './declare-cases.ts'
import { profileStoreSuite } from './postgres-subject.ts'

declareCases(profileStoreSuite(profiles.serializable))
