import { Fragment, type ReactNode } from 'react';
import { cut, formOf } from './format.ts';
import { say, useLocale, type TextKey } from './locale.ts';

/** Says texts in a component, which is drawn anew in another language. */
export function useText(): typeof say {
  useLocale();
  return say;
}

/**
 * A text with elements in it, such as a name in bold: `<Text of="app.x" person={<b>…</b>} />`.
 * The number n chooses the plural.
 */
export function Text({ of: key, ...parts }: { of: TextKey } & Record<string, ReactNode>) {
  const { texts, plurals, numbers } = useLocale();
  const n = parts.n;
  const text = formOf(texts[key] ?? key, plurals, typeof n === 'number' ? n : undefined);
  return cut(text).map((piece, i) => {
    if (i % 2 === 0) return piece;
    const value = parts[piece];
    // oxlint-disable-next-line react/no-array-index-key -- the pieces of one text never change places
    return <Fragment key={i}>{typeof value === 'number' ? numbers.format(value) : value}</Fragment>;
  });
}
