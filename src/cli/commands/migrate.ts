// regrow migrate: brings regrow's tables up to date, or prints the SQL for teams with a tool of their own.

import { migrationScript } from '../../drivers/postgres/index.ts'
import { operate } from '../../operate/index.ts'
import { appArgs, command, storeArgs, usage } from '../command.ts'
import { withStore } from '../open.ts'
import { visible } from '../output.ts'

export const migrate = command({
  name: 'migrate',
  summary: "Brings regrow's tables up to date",
  about:
    'Safe to run again and from many places at once. Migrations only add, so run it before the new code starts:\nold code works on the newer tables.',
  args: {
    ...storeArgs,
    ...appArgs,
    print: { type: 'boolean', description: 'Print the SQL instead; no store is needed' },
    transaction: { type: 'boolean', description: 'With --print: put BEGIN and COMMIT around it' },
  },
  examples: [
    ['regrow migrate --store postgres://app@db/shop', 'as a step of a deploy'],
    ['regrow migrate --print > regrow.sql', 'for a migration tool of your own; it may be applied again'],
    ['regrow migrate --print --transaction | psql', 'all of it or nothing, without a tool'],
  ],
  async run(args, cli) {
    if (args.transaction && !args.print)
      throw usage(
        '--transaction was given without --print',
        'It is for the printed SQL. `regrow migrate` always runs in a transaction.',
      )
    if (args.print) {
      const sql = migrationScript({ transaction: args.transaction === true })
      cli.out.result({ sql }, () => sql.trimEnd())
      return 0
    }
    return withStore(
      args,
      cli,
      async ({ app, from: store }) => {
        const { from, to } = await operate(app).migrate()
        cli.out.result({ store, from, to }, () =>
          from === to
            ? `${visible(store)}: up to date, version ${to}`
            : `${visible(store)}: migrated from version ${from} to ${to}`,
        )
        return 0
      },
      { tablesOnly: true },
    )
  },
})
