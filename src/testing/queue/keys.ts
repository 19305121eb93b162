// Rules of bytes (S14): a key comes out as it went in, whatever it looks like to a language on the way.
import assert from 'node:assert/strict'
import type { Case } from '../suite.ts'
import { drain, hint, type QueueContext, sortedKeys } from './context.ts'

/** Keys that are text to us, and syntax to somebody. */
export const hostileKeys: readonly string[] = [
  '',
  ' ',
  ' leading and trailing ',
  '\ttab\tand\nnew line\r\n',
  `it's "quoted" \`three\` ways`,
  'back\\slash \\n \\u0041 \\',
  '{"job":"b","key":"y"}',
  '["a","b"]',
  'null',
  '0',
  '-0',
  '1e309',
  '007',
  "'; drop schema regrow cascade; --",
  '$1 $$ $tag$ :name ?',
  '%s %d {0} $' + '{key} #{key}',
  "redis.call('FLUSHALL') -- ]] --[[",
  'KEYS[1] * ? [a-z]',
  'a:b:c{d}e',
  '../../etc/passwd',
  '<script>alert(1)</script>&amp;',
  '\u0001\u001f\u007f\u0085\u2028\u2029\ufeff',
  'Ω≈ç√∫ é e\u0301 中文 한국어 עברית',
  '👩‍👩‍👧‍👦 \u{10ffff}',
  'x'.repeat(1_024),
  '👾'.repeat(256),
]

/** Keys that some collation, trim or number reading takes for one. */
export const alikeKeys: readonly string[] = [
  ...['a', 'A', 'a ', ' a', 'a\n', 'á', 'a\u0301', 'ａ'],
  ...['ß', 'ss', 'ı', 'i', 'I', 'İ', 'Å', '\u212b'],
  ...['1', '01', '+1', '1.0', '1e0', '１'],
]

export const keysCases: readonly Case<QueueContext>[] = [
  {
    name: 'hostile keys come out byte for byte as they went in',
    async run(context) {
      const queue = await context.open()
      const all = hostileKeys.map((key) => hint(key))
      assert.deepEqual(await queue.push(all), { added: all.length, merged: 0, dropped: 0 })
      assert.deepEqual(await queue.push(all), { added: 0, merged: all.length, dropped: 0 })
      assert.deepEqual(sortedKeys(await drain(queue)), sortedKeys(all))
    },
  },
  {
    name: 'keys that only look alike are different keys',
    async run(context) {
      const queue = await context.open()
      const all = alikeKeys.map((key) => hint(key))
      assert.deepEqual(await queue.push(all), { added: all.length, merged: 0, dropped: 0 })
      assert.deepEqual(sortedKeys(await drain(queue)), sortedKeys(all))
    },
  },
  {
    name: 'job and key are never mistaken for each other, wherever a separator would fall',
    async run(context) {
      const queue = await context.open()
      const pairs = [
        ['a', 'b:c'],
        ['a:b', 'c'],
        ['a.b', 'c'],
        ['b', '.b.c'],
        ['A', 'b:c'],
        ['a_b', 'c'],
        ['a-b', 'c'],
        [`j${'x'.repeat(127)}`, 'k'],
      ] as const
      const all = pairs.map(([job, key]) => hint(key, { job }))
      assert.equal((await queue.push(all)).added, pairs.length)
      for (const [job, key] of pairs) assert.deepEqual(await drain(queue, [job]), [{ job, key, fresh: true }])
    },
  },
]
