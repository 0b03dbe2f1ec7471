import { expect, test } from 'vitest';
import { join, seed } from './speech.ts';

const nothing = { text: '', length: 0, at: 0, later: [] };
const piece = (offset: number, text: string) => ({ task_id: 't', session_id: 's', number: 1, offset, text });

test('pieces make the text, counted in code points', () => {
  const first = join(nothing, piece(0, 'Réad 🙂'));
  expect(first.length).toBe(6);
  expect(join(first, piece(6, ' row 7')).text).toBe('Réad 🙂 row 7');
  expect(join(first, piece(4, ' ok')).text).toBe('Réad ok');
});

test('a piece at the beginning begins anew', () => {
  expect(join(join(nothing, piece(0, 'lost attempt')), piece(0, 'Again'))).toMatchObject({ text: 'Again', length: 5 });
});

test('pieces behind a gap wait until the server was read', () => {
  const late = join(join(nothing, piece(6, 'world')), piece(11, '!'));
  expect(late).toMatchObject({ text: '', length: 0 });
  expect(late.later).toHaveLength(2);
  expect(seed(late, 'hello wor')).toMatchObject({ text: 'hello world!', length: 12, later: [] });
  expect(seed(late, 'hello world! More')).toMatchObject({ text: 'hello world! More', later: [] });
});

test('what was read before does not take back what came since', () => {
  const now = join(nothing, piece(0, 'hello world'));
  expect(seed(now, 'hello')).toBe(now);
});
