// Options are checked by name and by type; the sentence says what was expected and found, and nothing of long values.
import { expect, test } from 'vitest'
import {
  abortSignal,
  callback,
  checkOptions,
  flag,
  type Options,
  optionMistakes,
  readElsewhere,
  text,
  texts,
  wholeNumber,
} from '../../../src/base/options.ts'

const options = {
  dryRun: flag,
  name: text,
  jobs: texts,
  done: callback,
  signal: abortSignal,
  limit: wholeNumber(1, 10),
  wait: readElsewhere,
} satisfies Options

const good = {
  dryRun: false,
  name: 'a',
  jobs: [],
  done() {},
  signal: new AbortController().signal,
  limit: 10,
  wait: Symbol('x'),
}

test('what fits is no mistake, nor is what is undefined', () => {
  expect(optionMistakes('f()', good, options)).toEqual([])
  expect(optionMistakes('f()', { dryRun: undefined }, options)).toEqual([])
  expect(optionMistakes('f()', {}, options)).toEqual([])
})

test.each<[unknown, string]>([
  [{ dry: true }, 'f(): unknown option "dry"; did you mean "dryRun"?'],
  [{ dryRun: 'no' }, 'f(): `dryRun` is "no"; expected true or false'],
  [{ dryRun: null }, 'f(): `dryRun` is null; expected true or false'],
  [{ name: ' ' }, 'f(): `name` is " "; expected a text'],
  [{ jobs: 'a' }, 'f(): `jobs` is "a"; expected an array of texts'],
  [{ jobs: [1] }, 'f(): `jobs` is an array; expected an array of texts'],
  [{ done: {} }, 'f(): `done` is an object; expected a function'],
  [{ signal: new AbortController() }, 'f(): `signal` is an object; expected an AbortSignal'],
  [{ limit: 0 }, 'f(): `limit` is 0; expected a whole number from 1 to 10'],
  [{ limit: 1n }, 'f(): `limit` is 1n; expected a whole number from 1 to 10'],
  [{ toString: 1 }, 'f(): unknown option "toString"; known are: dryRun, name, jobs, done, signal, limit, wait'],
  [null, 'f(): the options are null; expected an object with `dryRun`, `name`, `jobs`'],
  ['x', 'f(): the options are "x"; expected an object with'],
  [[], 'f(): the options are an array; expected an object with'],
])('%o is told', (given, sentence) => {
  expect(optionMistakes('f()', given, options)).toEqual([expect.stringContaining(sentence)])
})

test('all mistakes are in one error, with what became of the call', () => {
  expect(() => checkOptions('f()', { limit: -1, dyrRun: true }, options, 'Nothing was swept.')).toThrow(
    expect.objectContaining({
      code: 'bad_options',
      message: expect.stringMatching(/did you mean "dryRun"\?; f\(\): `limit` is -1/),
      hint: 'Nothing was swept.',
    }),
  )
})
