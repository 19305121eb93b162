// Finds statements that would begin or end the transaction they are sent in (S4). In: a statement's text as the user wrote it.
// Out: the first such statement in it, wherever it stands: behind comments, or behind other statements.
import { type Token, tokenAt } from '../store/diagnose/sql-tokens.ts'
import type { PgClient } from './client.ts'

/** Most statements need no closer look: they begin with another word, and hold no second statement. */
const needsLook = /^\s*(?:begin|start|commit|end|abort|prepare|rollback|--|\/\*)/i

/** As many words as tell what a statement is: `create or replace function`, `rollback transaction to`. */
const wordsMost = 4

/**
 * The first statement of `text` that begins or ends a transaction; undefined: there is none. Savepoints are fine. What a backslash in a
 * string means is a setting of the session (standard_conforming_strings): neither meaning may leave such a statement.
 */
export function transactionControlIn(text: string): string | undefined {
  const many = text.includes(';')
  if (!many && !needsLook.test(text)) return undefined
  return controlIn(text, many, false) ?? (text.includes('\\') ? controlIn(text, many, true) : undefined)
}

function controlIn(text: string, many: boolean, escapes: boolean): string | undefined {
  let statement = new Statement()
  for (let at = 0; at < text.length; ) {
    const token = tokenAt(text, at, escapes)
    if (statement.endsAt(token)) {
      if (statement.isControl) return text.slice(statement.start, at)
      statement = new Statement()
    } else statement.read(token, at)
    at += token.text.length
    if (!many && statement.isKnown) break
  }
  return statement.isControl ? text.slice(statement.start) : undefined
}

/** True when the server says, with nothing under way, that there is no transaction on this connection. */
export const hasEnded = (client: PgClient): boolean =>
  client.readyForQuery === true && client.getTransactionStatus?.() === 'I'

/** True for the answer to a text in which one transaction ended and another one began. */
export const isControlTag = (answer: unknown): boolean =>
  (Array.isArray(answer) ? answer : [answer]).some((each) =>
    ['BEGIN', 'START', 'COMMIT'].includes((each as { command?: string } | null)?.command ?? ''),
  )

/** One statement of a text, as far as it was read. */
class Statement {
  /** Where its first word is; comments before it are no part of it. */
  start = 0
  readonly #words: string[] = []
  /** Open brackets: a rule has several statements between them. */
  #brackets = 0
  /** Open BEGIN ATOMIC and CASE in the body of a function: its statements end in semicolons, too. */
  #blocks = 0
  /** The word, or the sign, before this one. */
  #previous = ''

  get isKnown(): boolean {
    return this.#words.length >= wordsMost
  }

  /** True when the semicolon ends this statement, and not a part of it. */
  endsAt({ text }: Token): boolean {
    return text === ';' && this.#brackets === 0 && this.#blocks === 0
  }

  read({ kind, text }: Token, at: number): void {
    if (kind === 'space') return
    if (this.#words.length === 0) this.start = at
    const word = text.toLowerCase()
    if (!this.isKnown) this.#words.push(word)
    if (text === '(') this.#brackets++
    else if (text === ')' && this.#brackets > 0) this.#brackets--
    else if (kind === 'name' && this.#brackets === 0 && this.#isRoutine) this.#readBody(word)
    this.#previous = word
  }

  /** `rollback to` a savepoint ends nothing. */
  get isControl(): boolean {
    const [first = '', second = '', third = ''] = this.#words
    switch (first) {
      case 'begin':
      case 'commit':
      case 'end':
      case 'abort':
        return true
      case 'start':
      case 'prepare':
        return second === 'transaction'
      case 'rollback':
        return (['work', 'transaction'].includes(second) ? third : second) !== 'to'
      default:
        return false
    }
  }

  get #isRoutine(): boolean {
    const [create, second, replace, third] = this.#words
    if (create !== 'create') return false
    const what = second === 'or' && replace === 'replace' ? third : second
    return what === 'function' || what === 'procedure'
  }

  #readBody(word: string): void {
    // BEGIN alone, and any word behind AS or a dot, is a name.
    if (this.#blocks === 0) this.#blocks = word === 'atomic' && this.#previous === 'begin' ? 1 : 0
    else if (this.#previous === 'as' || this.#previous === '.') return
    else if (word === 'case') this.#blocks++
    else if (word === 'end') this.#blocks--
  }
}
