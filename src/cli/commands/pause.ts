// regrow pause, regrow resume: the kill switch of a job.
import type { Duration, PauseRow } from '../../index.ts'
import { appArgs, command, storeArgs, usage } from '../command.ts'
import { withStore } from '../open.ts'
import { visible } from '../output.ts'

const args = {
  job: { type: 'positional', required: true, description: 'The job' },
  author: { type: 'string', valueHint: 'name', description: 'Who acts. Defaults to REGROW_AUTHOR, then user@host' },
  ...storeArgs,
  ...appArgs,
} as const

export const pause = command({
  name: 'pause',
  summary: 'Stops the starts of a job until it is resumed, or for a while',
  about:
    'Running handlers go on; nothing that is enqueued meanwhile is lost. A job that is paused already gets the new reason\nand end. `regrow status` shows what is paused.',
  args: {
    reason: { type: 'string', valueHint: 'text', description: 'Why; whoever finds the job paused reads it. Needed' },
    for: {
      type: 'string',
      valueHint: 'duration',
      description: 'Over by itself after so long, as in 2h. Defaults to until it is resumed',
    },
    ...args,
  },
  examples: [
    ["regrow pause email.welcome --reason 'the provider is down'", ''],
    ["regrow pause backup.run --reason 'the disk is full' --for 2h", ''],
  ],
  async run({ job, reason, for: duration, author, ...where }, cli) {
    if (reason === undefined)
      throw usage('--reason is missing', 'Say why: --reason "…". Whoever finds the job paused reads it.')
    return withStore(where, cli, async ({ app }) => {
      const found = await app.pause(job, {
        reason,
        author: author ?? cli.around.author,
        ...(duration === undefined ? {} : { for: duration as Duration }),
      })
      cli.out.result(found, () => paused(found, duration))
      return 0
    })
  },
})

export const resume = command({
  name: 'resume',
  summary: 'Ends the pause of a job: what waits comes back',
  about: 'A new sweep from the beginning brings back all that waits, slowly at first.',
  args,
  examples: [['regrow resume email.welcome', '']],
  run: ({ job, author, ...where }, cli) =>
    withStore(where, cli, async ({ app }) => {
      const resumed = await app.resume(job, { author: author ?? cli.around.author })
      cli.out.result({ job, resumed }, () =>
        resumed
          ? `${visible(job)} is resumed. Its sweep begins anew and brings back all that waits, slowly at first.`
          : `${visible(job)} is not paused: there is nothing to do.`,
      )
      return 0
    }),
})

function paused({ job, reason, until }: PauseRow, duration: string | undefined): string {
  const end =
    until === null
      ? 'until it is resumed'
      : `for ${duration}, until ${until.toISOString().slice(0, 19).replace('T', ' ')} UTC`
  return [
    `${visible(job)} is paused ${end}: ${visible(reason)}`,
    'From now on no check starts a key of it: nothing new begins. Handlers that run go on to their end.',
    'Rows stay where they are, intents are stored and held.',
    `Everything comes back ${until === null ? 'with' : 'by itself then, or before with'}: regrow resume ${visible(job)}`,
  ].join('\n')
}
