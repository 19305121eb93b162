// Asks a person at a terminal before something that concerns many; elsewhere a flag has to say yes.
import { RegrowError } from '../index.ts'
import { type Cli, usage } from './command.ts'

/** Goes on when somebody says yes: `yes` on the command line, or the answer to `question`. Throws otherwise. */
export async function confirm({ around, out }: Cli, yes: boolean, question: string): Promise<void> {
  if (yes) return
  if (!around.interactive || out.json)
    throw usage(`${question} Nobody is here to be asked`, 'Add --yes if that is meant. Nothing was done.')
  const { confirm: ask, isCancel } = await import('@clack/prompts')
  const answer = await ask({ message: question, initialValue: false })
  if (answer === true) return
  // Ctrl-C here means what it means everywhere.
  if (isCancel(answer)) throw new RegrowError('stopped', 'Stopped', 'Nothing was done.')
  throw new RegrowError('cancelled', 'Cancelled', 'Nothing was done.')
}
