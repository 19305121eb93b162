// What people and tools ask of an app. Each tool gets its own ports, and nothing is opened before the first call.

import { afterCommit } from '../enqueue/after-commit.ts'
import { transactionOf } from '../enqueue/arguments.ts'
import { acceptedInputs } from '../enqueue/intents.ts'
import { coverage } from '../operate/coverage/coverage.ts'
import { doctor } from '../operate/doctor/doctor.ts'
import { forget } from '../operate/forget.ts'
import { type HealthPorts, health } from '../operate/health.ts'
import { type Pausing, pausing } from '../operate/pause.ts'
import { quarantine } from '../operate/quarantine.ts'
import { type SchedulesOfApp, schedulesOf } from '../operate/schedules.ts'
import { status } from '../operate/status.ts'
import { why } from '../operate/why/why.ts'
import { keepSchedules } from '../schedule/declare.ts'
import { patternMistake } from '../schedule/mistakes.ts'
import { instantsOf } from '../schedule/reconcile.ts'
import { handOverLane } from '../schedule/runtime-schedules.ts'
import { sweepOnDemand } from '../sweep/run-sweep.ts'
import type { Operator } from './operator.ts'
import type { Opened, Resources } from './resources.ts'

export function makeOperator(resources: Resources): Omit<Operator, 'jobs'> {
  const { clock, random, events, registry, bareStore, store, open, leaseMs, guard, author } = resources
  const opened = async () => {
    registry.verify()
    return { ...(await open()), clock, leaseMs, author, jobs: registry.jobs() }
  }
  const judged = async () => health(healthPorts(await opened()))
  return {
    queue: async () => {
      const { name, shared } = (await open()).queue
      return { name, shared }
    },
    status: async () => status(healthPorts(await opened())),
    health: judged,
    why: async (job, key) => {
      const { store, ...ports } = await opened()
      return why({ ...ports, status: store.status, diagnosis: store.diagnosis }, job, key)
    },
    // The store alone: a test that asks for it has no queue.
    coverage: async (choice) => {
      const ready = await store()
      return coverage({ clock, store: ready, jobs: registry.jobs(), source: ready.source }, choice)
    },
    doctor: async (choice) => {
      const bare = await bareStore()
      const ports = { clock, store: bare, source: bare.source, jobs: registry.jobs(), guard, leaseMs }
      const opening = { health: judged, queue: async () => (await open()).queue }
      const migrates = resources.migrates()
      return doctor({ ...ports, ...opening, migrates, verify: () => registry.verify() }, choice)
    },
    quarantine: quarantine(async () => {
      const { store, push, jobs } = await opened()
      const { status, quarantine, sweeps } = store
      return { status, quarantine, sweeps, push, events, jobs, leaseMs, author }
    }),
    schedules: schedules(resources),
    ...switches(resources),
    sweep: async (choice) => sweepOnDemand({ ...(await opened()), random, events }, choice),
    forget: async (job, choice) => {
      const { store, queue, jobs } = await opened()
      const { forgetting, status } = store
      return forget({ clock, forgetting, status, queue, jobs, leaseMs, author }, job, choice)
    },
    migrate: async () => (await bareStore()).migrate(),
  }
}

type OpenedHere = Opened & Pick<HealthPorts, 'clock' | 'leaseMs' | 'jobs'>

const healthPorts = ({ store, clock, queue, jobs, leaseMs }: OpenedHere): HealthPorts => {
  const { status, timetable, repair } = store
  return { clock, status, timetable, repair, instants: instantsOf, queue, jobs, leaseMs }
}

/** The kill switches; they need the store alone. */
function switches({ store, registry, author }: Resources): Pausing {
  return pausing(async () => {
    const { pauses, status } = await store()
    return { pauses, status, jobs: registry.jobs(), author }
  })
}

function schedules({ random, events, registry, open, leaseMs, author }: Resources): SchedulesOfApp {
  return schedulesOf(async () => {
    registry.verify()
    const { store, push, source } = await open()
    const { schedules, timetable } = store
    const keeping = { schedules, push, random, events, leaseMs }
    return {
      ...{ schedules, timetable, push, events, jobs: registry.jobs(), leaseMs, author, source },
      ...{ handOverLane, afterCommit, mistake: patternMistake, instants: instantsOf },
      transactionOf: (of, tx) => transactionOf({ adopt: async (...args) => store.connections.adopt(...args) }, of, tx),
      keep: async (names, reason) => void (await keepSchedules(keeping, names, reason)),
      inputText: async (job, input) => (await acceptedInputs(job, [input]))[0] as string,
    }
  })
}
