// regrow doctor: what is wrong, or will be, before it is an outage; for people, and for CI. It only reads: --fix prints
// statements for a person to run.
import { type DoctorReport, operate } from '../../operate/index.ts'
import { appArgs, command, exitCodes, usage } from '../command.ts'
import { withApp } from '../open.ts'
import { showingProgress } from '../progress.ts'
import { doctorText, fixText, statementsOf } from '../render/doctor.ts'

export const doctor = command({
  name: 'doctor',
  summary: 'Examines database, queue, fleet and every pending query, and says what to do',
  about:
    'Explains and runs the pending queries of your app under a time limit of 5s each; changes nothing, and never migrates. Lines\nwith !! are bad, and make it exit with 1; those with ! are worth a change, those with · good to know.',
  args: {
    ...appArgs,
    job: { type: 'string', valueHint: 'name,…', description: 'Examine the pending queries of these jobs alone' },
    fix: { type: 'boolean', description: 'Print the statements that mend what was found; none is run' },
    ignore: { type: 'string', valueHint: 'code,…', description: 'Leave findings of these codes out' },
    strict: { type: 'boolean', description: 'Exit with 1 for what is worth a change, too' },
  },
  examples: [
    ['regrow doctor --app jobs.ts', ''],
    ['regrow doctor --job order.ship,order.bill', ''],
    ['regrow doctor --fix > mend.sql', 'the statements, to be read and run by you'],
    ['regrow doctor --strict --ignore no_worker,no_handler', 'in CI, where no worker runs'],
    ["regrow doctor --json | jq -r '.findings[] | .code'", ''],
  ],
  async run(args, cli) {
    const [jobs, ignored] = [listOf(args.job), listOf(args.ignore)]
    const strange = ignored.find((code) => !/^[a-z]+(_[a-z]+)*$/.test(code))
    if (strange !== undefined)
      throw usage(
        `--ignore names "${strange}"`,
        'Give codes as --json prints them, with commas between: index_missing,pooler.',
      )
    return withApp(args, cli, async ({ app, from }) => {
      const { value, stopped } = await showingProgress(cli, (long) =>
        operate(app).doctor({ ...long, ...(jobs.length > 0 ? { jobs } : {}) }),
      )
      const report = without(value, ignored)
      const idle = ignored.filter((code) => value.findings.every((finding) => finding.code !== code))
      const document = { app: from, ...report, statements: statementsOf(report) }
      const { color } = cli.out
      const width = cli.around.screen()?.columns
      cli.out.result(document, () => (args.fix ? fixText(report) : doctorText(report, from, color, width)))
      if (idle.length > 0 && !cli.out.json) cli.out.note(`--ignore: nothing was found of ${idle.join(', ')}`)
      if (stopped) return exitCodes.stopped
      const failed = !report.healthy || (args.strict && report.findings.some(({ level }) => level === 'warn'))
      return failed ? exitCodes.failed : exitCodes.fine
    })
  },
})

const listOf = (text: string | undefined) =>
  (text ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)

function without(report: DoctorReport, codes: readonly string[]): DoctorReport {
  const findings = report.findings.filter(({ code }) => !codes.includes(code))
  return { ...report, findings, healthy: !report.stopped && findings.every(({ level }) => level !== 'bad') }
}
