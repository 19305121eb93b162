// Mutants of what people read and call: texts that are printed, secrets, warnings, wrong calls, and the end of an app.
import { type Mutant, mutant, test } from './mutant.ts'

export const ofCalls: readonly Mutant[] = [
  mutant(
    'cells-as-they-are',
    'a job whose name has a line break or a colour in it changes the table that it is in',
    'src/cli/output.ts',
    'const rows = cells.map((row) => row.map(visible))',
    'const rows = cells',
    test('unit/cli/hostile-texts'),
  ),
  mutant(
    'output-as-it-is',
    'what a command forgets to escape reaches the terminal',
    'src/cli/output.ts',
    'printable(text(), colored)',
    'text()',
    test('unit/cli/output'),
  ),
  mutant(
    'slash-ends-a-password',
    'a password with a slash in it stays in the text of an error',
    'src/base/redact.ts',
    String.raw`find(' ', /\s/g, from)`,
    String.raw`find(' ', /[\s/]/g, from)`,
    test('unit/base/redact'),
  ),
  mutant(
    'families-without-end',
    'a mistake in two hundred jobs is two hundred lines',
    'src/base/repeats.ts',
    'relatives.length < familyMax ? name',
    'true ? name',
    test('unit/job/warnings'),
  ),
  mutant(
    'a-listener-per-sleep',
    'two hundred jobs that wait for one signal make Node warn of a leak',
    'src/base/on-abort.ts',
    'waiting.get(signal) ?? listenTo(signal)',
    'listenTo(signal)',
    test('unit/base/on-abort'),
  ),
  mutant(
    'close-without-end',
    'S16: an opening that hangs keeps the caller of close for ever',
    'src/base/life.ts',
    'await this.#within(end())',
    'await end()',
    test('unit/base/life'),
  ),
  mutant(
    'answers-of-tx-unchecked',
    'a wrapper of another client that answers no rows is a TypeError',
    'src/drivers/postgres/store/adopt-transaction.ts',
    'if (Array.isArray(answer?.rows)) return answer',
    'return answer',
    test('flow/wrong-calls'),
  ),
]
