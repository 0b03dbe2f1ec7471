import { expect, test } from 'vitest';
import { merge } from './merge.ts';

test.each([
  ['mine alone', 'a\nb\n', 'a\nB\n', 'a\nb\n', 'a\nB\n', 0],
  ['theirs alone', 'a\nb\n', 'a\nb\n', 'A\nb\n', 'A\nb\n', 0],
  ['apart', 'a\nb\nc\nd\n', 'A\nb\nc\nd\n', 'a\nb\nc\nD\n', 'A\nb\nc\nD\n', 0],
  ['the same', 'a\nb\n', 'a\nX\n', 'a\nX\n', 'a\nX\n', 0],
  ['one line twice', 'a\nb\nc\n', 'a\nmine\nc\n', 'a\ntheirs\nc\n', 'a\ntheirs\nmine\nc\n', 1],
  ['both at the end', 'a\n', 'a\nmine\n', 'a\ntheirs\n', 'a\ntheirs\nmine\n', 1],
  ['no line end', 'a', 'a mine', 'a theirs', 'a theirs\na mine', 1],
  ['deleted and changed', 'a\nb\nc\n', 'a\nc\n', 'a\nB\nc\n', 'a\nB\nc\n', 1],
  ['from nothing', '', 'mine', 'theirs', 'theirs\nmine', 1],
  ['line ends of others', 'a\r\nb\r\n', 'a\r\nb\r\nc\r\n', 'A\r\nb\r\n', 'A\r\nb\r\nc\r\n', 0],
])('merges %s', (_, base, mine, theirs, text, overlaps) => {
  expect(merge(base, mine, theirs)).toEqual({ text, overlaps });
});

test('no line that either side added is lost', () => {
  let seed = 7;
  const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  for (let round = 0; round < 2000; round++) {
    const base = Array.from({ length: random(8) }, (_, i) => `line ${i}\n`);
    const change = (who: string) => {
      const lines = [...base];
      const added: string[] = [];
      for (let i = random(4); i > 0; i--) {
        const line = `${who} ${i}\n`;
        lines.splice(random(lines.length + 1), random(3), line);
        added.push(line);
      }
      return { text: lines.join(''), added: added.filter(line => lines.includes(line)) };
    };
    const mine = change('mine');
    const theirs = change('theirs');
    const { text } = merge(base.join(''), mine.text, theirs.text);
    for (const line of [...mine.added, ...theirs.added]) expect(text).toContain(line);
  }
});
