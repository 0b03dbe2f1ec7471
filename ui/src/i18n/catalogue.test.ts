import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ofApp } from '../../build/catalogue.ts';
import { cut, fill, formOf, placeholders, pseudo, type Message } from './format.ts';

const folder = new URL('../../../internal/web/locales/', import.meta.url).pathname;
const read = (name: string) => JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8')) as Record<string, Message>;
const english = read('en.json');
const others = fs.readdirSync(folder).filter(name => name !== 'en.json');

const source = fs
  .readdirSync(new URL('..', import.meta.url).pathname, { recursive: true, encoding: 'utf8' })
  .filter(name => /\.tsx?$/.test(name))
  .map(name => fs.readFileSync(new URL(`../${name}`, import.meta.url).pathname, 'utf8'))
  .join('\n');

test('no text of the app is used nowhere', () => {
  // Keys that are made of what the server says, or of a choice.
  const made = /^app\.(act|code|scope|role|theme|settings|view|greeting|handoff\.(state|accepted|declined))\./;
  const unused = Object.keys(english).filter(
    key => key.startsWith('app.') && !made.test(key) && !source.includes(`'${key}'`) && !source.includes(`"${key}"`),
  );
  expect(unused).toEqual([]);
});

test.each(others)('%s says everything, with the same values', name => {
  const texts = read(name);
  expect(Object.keys(texts).toSorted()).toEqual(Object.keys(english).toSorted());
  const rules = new Intl.PluralRules(name.replace('.json', ''));
  for (const [key, message] of Object.entries(texts)) {
    expect(placeholders(message), key).toEqual(placeholders(english[key]!));
    expect(typeof message === 'string', key).toBe(typeof english[key] === 'string');
    const forms = typeof message === 'string' ? { other: message } : message;
    for (const [form, text] of Object.entries(forms)) expect(text.trim(), `${key} ${form}`).not.toBe('');
    if (typeof message === 'string') continue;
    expect(Object.keys(message).toSorted(), key).toEqual(rules.resolvedOptions().pluralCategories.toSorted());
  }
});

const words = (message: Message) =>
  formOf(message, new Intl.PluralRules('en'), undefined).match(/\b[a-z]{2,}\b(?!\})/gi) ?? [];

test.each(others)('%s leaves no sentence in English', name => {
  // Names and single words can be the same in two languages; a text of three words is not.
  const same = Object.entries(read(name)).filter(
    ([key, message]) => JSON.stringify(message) === JSON.stringify(english[key]) && words(message).length > 2,
  );
  expect(same).toEqual([]);
});

test('a plural is chosen by the rules of its language', () => {
  const message: Message = { one: '{n} den', few: '{n} dny', other: '{n} dní' };
  const rules = new Intl.PluralRules('cs');
  expect([1, 3, 5].map(n => fill(formOf(message, rules, n), { n }, new Intl.NumberFormat('cs')))).toEqual([
    '1 den',
    '3 dny',
    '5 dní',
  ]);
  expect(formOf(message, rules, undefined)).toBe('{n} dní');
});

test('values are put in as they are', () => {
  const numbers = new Intl.NumberFormat('de');
  expect(fill('{a} and {b}', { a: '{b}', b: 1234.5 }, numbers)).toBe('{b} and 1.234,5');
  expect(fill('{a}', { a: 'Cl\u202eau\u200bde\u0007' }, numbers)).toBe('Claude');
  expect(fill('{missing}', {}, numbers)).toBe('{missing}');
  expect(cut('Changed by {who}, {when}')).toEqual(['Changed by ', 'who', ', ', 'when', '']);
});

test('the pseudo-language keeps placeholders and has no plain letters', () => {
  expect(pseudo('Remove {what}')).toMatch(/^\[Rémôvé \{what\}·+\]$/);
  expect(pseudo({ one: '{n} a', other: '{n} b' })).toMatchObject({ one: expect.stringContaining('{n} à') as string });
  for (const [key, message] of Object.entries(english)) {
    if (ofApp(key)) expect(placeholders(pseudo(message)), key).toEqual(placeholders(message));
  }
});
