import { expect, test } from 'vitest';
import { csvOf } from './csv.ts';

test('fields are quoted, and none is a formula', () => {
  expect(
    csvOf(
      ['a', 'b'],
      [
        { a: 'x "y"\nz', b: '=HYPERLINK("evil")' },
        { a: undefined, b: 5 },
      ],
    ),
  ).toBe('"a","b"\r\n"x ""y""\nz","\'=HYPERLINK(""evil"")"\r\n"","5"\r\n');
});
