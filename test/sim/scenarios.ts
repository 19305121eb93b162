// The scenarios of the crash-point sweep: a few acts each, a small fleet, and at most one incident. Short on purpose: each is
// played once for every port event that its process under test has.

import type { ScheduleOptions } from '../../src/job/schedule.ts'
import {
  type Act,
  drains,
  goesDown,
  pauses,
  pausesSchedule,
  records,
  recurs,
  releases,
  removes,
  restarts,
  schedulesReport,
  stops,
  wipes,
  writes,
} from './acts.ts'
import { bill, mail, type Part, probe, render, ship } from './cast.ts'
import type { Plan } from './plan.ts'

/** What becomes of the process under test at a port event; `is cut off`: that call of it breaks there. */
export const fates = ['dies', 'freezes', 'is cut off'] as const
/** One of them. */
export type Fate = (typeof fates)[number]

/** A short story with a process in it that can end at any of its port events. */
export interface Scenario {
  readonly name: string
  readonly parts: readonly Part[]
  readonly acts: readonly Act[]
  /** Without a crash all is done so soon. */
  readonly soonMs: number
  /** Without a crash handlers start so often; `any`: a crash may double them, or who runs beside whom decides. */
  readonly starts: number | 'any'
  /** Who goes on when the process under test is dead: one that its supervisor starts, or one that lives beside it. */
  readonly survivor: 'restarted' | 'beside'
  readonly fates: readonly Fate[]
  readonly plan: Partial<Plan>
}

/** A sweep that comes so late that it cannot be what did the work in time. */
const rarely = { sweepMs: 12_000 }

function scenario(
  name: string,
  parts: readonly Part[],
  soonMs: number,
  starts: Scenario['starts'],
  acts: readonly Act[],
  more: Partial<Pick<Scenario, 'survivor' | 'fates' | 'plan'>> = {},
): Scenario {
  return { name, parts, soonMs, starts, acts, survivor: 'restarted', fates: ['dies', 'is cut off'], plan: {}, ...more }
}

/** A schedule in the code of each deploy, from a moment on. */
const ticking = (...editions: readonly [fromMs: number, options: ScheduleOptions][]): Partial<Plan> => ({
  ...rarely,
  recurring: {
    editions: editions.map(([fromMs, options]) => ({ fromMs, schedules: { 'tick.quick': options } })),
    handed: null,
    acts: [],
  },
})

/** All of them; `npm run sim -- --crash-points` plays each with each of its fates. */
export const scenarios: readonly Scenario[] = [
  scenario('a row is written and enqueued', [ship], 1_500, 1, [writes(300, ship, 0, 'ok')], {
    fates,
    plan: rarely,
  }),
  scenario(
    'a row is written and never enqueued',
    [ship],
    5_000,
    1,
    [writes(300, ship, 0, 'ok', { enqueue: 'never' })],
    {},
  ),
  scenario(
    'a row is enqueued before it is committed',
    [ship],
    3_000,
    1,
    [writes(300, ship, 0, 'ok', { enqueue: 'before', heldMs: 600 })],
    { plan: rarely },
  ),
  scenario('a handler fails twice', [ship], 8_000, 3, [writes(300, ship, 0, 'fails twice')], {
    plan: rarely,
  }),
  scenario('poison goes to quarantine', [ship], 18_000, 5, [writes(300, ship, 0, 'poison')], { plan: rarely }),
  scenario('an intent is recorded by itself', [mail], 4_000, 1, [records(300, 1, 'ok')], { fates, plan: rarely }),
  scenario(
    'an intent is recorded in a transaction of the app',
    [mail],
    4_000,
    1,
    [records(300, 1, 'ok', { heldMs: 300 })],
    { fates },
  ),
  scenario('an intent has a delay', [mail], 5_000, 1, [records(300, 1, 'ok', { inMs: 3_000 })], { plan: rarely }),
  scenario('an intent asks to be run again', [mail], 5_000, 2, [records(300, 1, 'again')], { plan: rarely }),
  scenario('a batch of many has one poison among them', [render], 30_000, 'any', [
    writes(300, render, 2, 'ok'),
    writes(300, render, 3, 'poison'),
    writes(300, render, 4, 'ok'),
    writes(300, render, 5, 'fails twice'),
  ]),
  scenario(
    'runs that end in the same moment share a transaction',
    [ship],
    4_000,
    4,
    [2, 3, 4, 6].map((n) => writes(300, ship, n, 'ok')),
    { fates, plan: { ...rarely, concurrency: 4 } },
  ),
  scenario('a composite key says when it runs', [bill], 5_000, 1, [writes(300, bill, 1, 'ok', { inMs: 2_500 })], {
    fates,
  }),
  scenario(
    'a row is written again while its handler runs',
    [ship],
    8_000,
    2,
    [writes(300, ship, 0, 'slow'), writes(1_500, ship, 0, 'ok')],
    { survivor: 'beside', fates, plan: { ...rarely, seed: 8 } },
  ),
  scenario(
    'a row is removed while its handler runs',
    [ship],
    6_000,
    2,
    [writes(300, ship, 0, 'slow'), writes(300, ship, 1, 'ok'), removes(1_500, ship, 0)],
    {},
  ),
  scenario(
    'the version changes during back-off',
    [ship],
    6_000,
    3,
    [writes(300, ship, 0, 'poison'), writes(2_000, ship, 0, 'ok')],
    { survivor: 'beside', plan: { ...rarely, seed: 7 } },
  ),
  scenario('a handler writes over a connection of its own', [probe], 5_000, 1, [writes(300, probe, 0, 'ok')], {
    fates,
  }),
  // Its success is recorded first, and forgets what failed before: a crash before that failure is written begins the count anew.
  scenario('a handler leaves its row as it was', [ship], 18_000, 'any', [writes(300, ship, 0, 'stays')], {
    plan: rarely,
  }),
  scenario(
    'a job is paused and resumed',
    [ship],
    6_000,
    2,
    [pauses(300, ship, 2_500), writes(1_000, ship, 0, 'ok'), writes(1_200, ship, 1, 'ok', { enqueue: 'never' })],
    { plan: rarely },
  ),
  scenario(
    'the queue is wiped while hints wait',
    [ship],
    9_000,
    3,
    [writes(300, ship, 2, 'slow'), writes(600, ship, 3, 'ok'), writes(600, ship, 4, 'ok'), wipes(1_500)],
    { survivor: 'beside', plan: { ...rarely, concurrency: 1 } },
  ),
  scenario(
    'the queue refuses everybody for a while',
    [ship],
    9_000,
    2,
    [goesDown(200, 'queue', 'refuses', 4_000), writes(600, ship, 0, 'ok'), writes(3_000, ship, 1, 'ok')],
    { plan: { sweepMs: 4_000 } },
  ),
  scenario(
    'the queue is silent for a while',
    [ship],
    25_000,
    2,
    [goesDown(200, 'queue', 'hangs', 4_000), writes(600, ship, 0, 'ok'), writes(6_000, ship, 1, 'ok')],
    { plan: { sweepMs: 4_000 } },
  ),
  scenario(
    'the store restarts and has lost the take',
    [ship],
    9_000,
    1,
    [writes(300, ship, 0, 'slow'), restarts('ledger.take heard', 800, 'all')],
    { survivor: 'beside', plan: { seed: 8 } },
  ),
  scenario(
    'the store restarts while an outcome is recorded',
    [ship],
    9_000,
    1,
    [writes(300, ship, 0, 'gives up'), restarts('ledger.settle sent', 800, 'none')],
    {},
  ),
  scenario(
    'a worker is told to stop while its handlers run',
    [ship],
    8_000,
    2,
    [writes(300, ship, 0, 'slow'), writes(300, ship, 1, 'slow'), stops(1_000, '1s')],
    { fates },
  ),
  scenario(
    'a process drains beside its worker',
    [ship],
    6_000,
    3,
    [
      writes(300, ship, 0, 'slow', { enqueue: 'never' }),
      writes(300, ship, 1, 'ok', { enqueue: 'never' }),
      drains(600),
      writes(900, ship, 2, 'ok'),
    ],
    { plan: rarely, fates },
  ),
  scenario('a suspect runs alone until it is quarantined', [ship], 60_000, 'any', [
    writes(300, ship, 2, 'ok'),
    writes(300, ship, 3, 'crash'),
    writes(300, ship, 4, 'ok'),
  ]),
  scenario(
    'the queue is too small for its rows',
    [ship],
    14_000,
    5,
    [2, 3, 4, 5, 6].map((place) => writes(300, ship, place, 'ok', { enqueue: place % 2 ? 'after' : 'never' })),
    { plan: { bounds: { maxHints: 1, maxDelayed: 2 } } },
  ),
  scenario(
    'an operator releases from quarantine',
    [mail],
    8_000,
    2,
    [records(300, 1, 'gives up'), releases(4_000, 1)],
    {
      plan: rarely,
    },
  ),
  scenario(
    'each process has a queue of its own',
    [ship, mail],
    8_000,
    2,
    [writes(300, ship, 0, 'ok', { enqueue: 'never' }), records(300, 1, 'ok')],
    { plan: { sharedQueue: false } },
  ),
  scenario('a schedule goes on', [ship], 7_000, 'any', [recurs(5_000)], { fates, plan: ticking([0, { every: '2s' }]) }),
  scenario(
    'a schedule goes on beside another worker, and what was missed runs',
    [ship],
    7_000,
    'any',
    [recurs(5_000)],
    {
      survivor: 'beside',
      plan: { ...ticking([0, { every: '2s', missed: { all: 3 }, overlap: 'queue', jitter: 500 }]), seed: 4 },
    },
  ),
  scenario('a deploy edits a schedule', [ship], 8_000, 'any', [stops(2_500, '1s'), recurs(6_000)], {
    fates,
    plan: ticking([0, { every: '2s' }], [2_400, { every: '3s', overlap: 'allow' }]),
  }),
  scenario(
    'a schedule is paused and resumed',
    [ship],
    9_000,
    'any',
    [pausesSchedule(1_500, 'tick.quick', 3_000), recurs(7_000)],
    { plan: ticking([0, { every: '2s' }]) },
  ),
  scenario(
    'a schedule that was made at run time hands over',
    [ship],
    8_000,
    'any',
    [schedulesReport(300, '2s'), recurs(6_000)],
    { fates, plan: { ...rarely, recurring: { editions: [{ fromMs: 0, schedules: {} }], handed: null, acts: [] } } },
  ),
  scenario('the queue is wiped while a slot waits', [ship], 9_000, 'any', [wipes(2_500), recurs(7_000)], {
    survivor: 'beside',
    plan: ticking([0, { every: '2s' }]),
  }),
  scenario(
    'the store restarts while a slot begins',
    [ship],
    9_000,
    'any',
    [restarts('schedules.write heard', 800, 'all'), recurs(6_000)],
    {
      plan: ticking([0, { every: '2s' }]),
    },
  ),
]
