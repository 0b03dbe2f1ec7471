/** A text: one for all, or one for each plural category of CLDR that the language has. */
export type Message = string | ({ other: string } & Partial<Record<Intl.LDMLPluralRule, string>>);
export type Catalogue = Readonly<Record<string, Message>>;
export type Values = Readonly<Record<string, string | number>>;

// Cc, Cf, Zl and Zp of Unicode, but not the line break and the tab: they have no
// look of their own and change that of others.
const hidden = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Text from people and assistants, made fit to be shown. */
export const clean = (text: string) => text.replace(hidden, '');

const placeholder = /\{([a-z_]+)\}/g;

/** The form of the message for the value n, its placeholders still in it. */
export function formOf(message: Message, plurals: Intl.PluralRules, n: string | number | undefined): string {
  if (typeof message === 'string') return message;
  return (typeof n === 'number' ? message[plurals.select(n)] : undefined) ?? message.other;
}

/** Puts values in the place of their names, without what cannot be seen. Numbers are written as the language writes them. */
export function fill(text: string, values: Values, numbers: Intl.NumberFormat): string {
  return text.replace(placeholder, (whole, name: string) => {
    const value = values[name];
    return value === undefined ? whole : typeof value === 'number' ? numbers.format(value) : clean(value);
  });
}

/** Cuts a text at its placeholders: names at the odd places, the text between them at the even ones. */
export const cut = (text: string): string[] => text.split(placeholder);

/** The names of a message's placeholders, in order and once each. */
export function placeholders(message: Message): string[] {
  const forms = typeof message === 'string' ? [message] : Object.values(message);
  return [...new Set(forms.flatMap(form => [...form.matchAll(placeholder)].map(m => m[1]!)))].sort();
}

const accents: Record<string, string> = Object.fromEntries(
  [...'aàcçeéiînñoôuûyýAÀCÇEÉIÎNÑOÔUÛYÝ'.matchAll(/(.)(.)/gu)].map(m => [m[1]!, m[2]!]),
);

/**
 * A message in the pseudo-language: accented, 40 % longer, in brackets. Text that
 * is not so was not taken from the catalogue; what is cut off loses its bracket.
 */
export function pseudo(message: Message): Message {
  if (typeof message !== 'string') {
    return Object.fromEntries(Object.entries(message).map(([form, text]) => [form, pseudo(text)])) as Message;
  }
  const accented = cut(message)
    .map((part, i) => (i % 2 ? `{${part}}` : part.replace(/[a-z]/gi, letter => accents[letter] ?? letter)))
    .join('');
  return `[${accented}${'·'.repeat(Math.ceil(message.length * 0.4))}]`;
}
