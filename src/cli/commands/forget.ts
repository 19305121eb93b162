// regrow forget: what the store and the queue hold of a job that is gone from the code.

import { RegrowError } from '../../index.ts'
import { type ForgetReport, operate } from '../../operate/index.ts'
import { appArgs, command, storeArgs } from '../command.ts'
import { confirm } from '../confirm.ts'
import { withStore } from '../open.ts'
import { visible } from '../output.ts'

export const forget = command({
  name: 'forget',
  summary: 'Forgets a job that was removed from the code',
  about:
    'Deletes its sweep, its pause, what the ledger remembers of its keys, and its hints. Rows of yours stay as they are. A job\nthat a live worker or the app declares is refused; one with stored inputs or keys in quarantine wants a yes, or --force.',
  args: {
    job: { type: 'positional', required: true, description: 'The job' },
    force: { type: 'boolean', description: 'Delete its stored inputs and quarantined keys, too, without a question' },
    author: { type: 'string', valueHint: 'name', description: 'Who acts. Defaults to REGROW_AUTHOR, then user@host' },
    ...storeArgs,
    ...appArgs,
  },
  examples: [
    ['regrow forget report.monthly', 'when no code has it any more'],
    ['regrow forget email.promo --force', 'with the inputs that never ran'],
  ],
  run: ({ job, force, author, ...where }, cli) =>
    withStore(where, cli, async ({ app }) => {
      const by = { author: author ?? cli.around.author }
      const report = await operate(app)
        .forget(job, { ...by, force: force === true })
        .catch(async (error: unknown) => {
          const asks = cli.around.interactive && !cli.out.json
          if (!asks || !(error instanceof RegrowError) || error.code !== 'job_has_work') throw error
          const [what = ''] = error.message.split('\n', 1)
          await confirm(cli, false, `${visible(what)}. Delete them, and forget it?`)
          return operate(app).forget(job, { ...by, force: true })
        })
      cli.out.result(report, () => forgotten(report))
      return 0
    }),
})

function forgotten({ job, remembered, quarantined, intents, paused, hints }: ForgetReport): string {
  const parts = [
    [remembered, 'key that was tried', 'keys that were tried'],
    [quarantined, 'key in quarantine', 'keys in quarantine'],
    [intents, 'stored input', 'stored inputs'],
    [hints ?? 0, 'hint', 'hints'],
  ] as const
  const gone = parts.flatMap(([count, one, many]) => (count > 0 ? [`${count} ${count === 1 ? one : many}`] : []))
  const also = [...(paused ? ['its pause'] : []), ...gone]
  return [
    `${visible(job)} is forgotten${also.length > 0 ? `, with ${also.join(', ')}` : ''}.`,
    ...(hints === null ? ['Its hints could not be taken out of the queue. They start nothing.'] : []),
    'A worker that declares it again brings it back.',
  ].join('\n')
}
