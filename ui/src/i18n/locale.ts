import { useSyncExternalStore } from 'react';
import english from '../../../internal/web/locales/en.json';
import { keep, kept } from '../data/kept.ts';
import { fill, formOf, pseudo, type Catalogue, type Message, type Values } from './format.ts';

/** The languages of the product, each in its own words. */
export const languages = {
  en: 'English',
  es: 'Español',
  de: 'Deutsch',
  fr: 'Français',
  it: 'Italiano',
  id: 'Bahasa Indonesia',
  hi: 'हिन्दी',
  ko: '한국어',
  'zh-TW': '繁體中文',
} as const;

export type Language = keyof typeof languages;

/** Everything that is said in one language. */
export interface Locale {
  /** For `lang` and for Intl. */
  tag: string;
  texts: Catalogue;
  plurals: Intl.PluralRules;
  numbers: Intl.NumberFormat;
}

type Key = keyof typeof english;
/** The texts of the app; those of the pages without JavaScript are not bundled. */
export type TextKey = Extract<Key, `app.${string}` | `role.${string}` | `status.${string}` | `host.${string}`>;

/** A language that is not filled yet is not here, and not offered. */
const catalogues = import.meta.glob<Catalogue>(
  ['../../../internal/web/locales/*.json', '!../../../internal/web/locales/en.json'],
  {
    import: 'default',
  },
);
const pathOf = (language: string) => `../../../internal/web/locales/${language}.json`;

/** The pseudo-language, which finds text that is not in the catalogue; for tests. */
const pseudoTag = 'en-XA';

/** The languages that can be chosen. */
export const offered = (Object.keys(languages) as Language[]).filter(l => l === 'en' || pathOf(l) in catalogues);

const tags: Partial<Record<Language, string>> = { 'zh-TW': 'zh-Hant-TW' };

function localeOf(language: string, texts: Catalogue): Locale {
  const tag = tags[language as Language] ?? language;
  const spoken = language === pseudoTag ? 'en' : tag;
  return { tag, texts, plurals: new Intl.PluralRules(spoken), numbers: new Intl.NumberFormat(spoken) };
}

const inEnglish = localeOf('en', english as Catalogue);
let current = inEnglish;
const listeners = new Set<() => void>();

/** The language that is spoken now, for code outside of components. */
export const locale = () => current;

/** The language that was chosen here, or "" for that of the browser. */
export const chosenLanguage = () => kept('language') ?? '';

function wanted(): string {
  const chosen = chosenLanguage();
  if (chosen === pseudoTag || offered.includes(chosen as Language)) return chosen;
  for (const asked of navigator.languages) {
    const found = offered.find(
      l => asked === l || asked.split('-')[0] === l || (l === 'zh-TW' && /^zh-(Hant|TW|HK|MO)/.test(asked)),
    );
    if (found) return found;
  }
  return 'en';
}

async function load(language: string): Promise<Catalogue> {
  if (language === 'en') return inEnglish.texts;
  if (language === pseudoTag) {
    return Object.fromEntries(Object.entries(inEnglish.texts).map(([key, text]) => [key, pseudo(text as Message)]));
  }
  return { ...inEnglish.texts, ...(await catalogues[pathOf(language)]!()) };
}

/** Speaks the language that is wanted, from the next rendering on. */
export async function speak(): Promise<void> {
  const language = wanted();
  // A catalogue that cannot be loaded leaves English, and not an empty page.
  const next = await load(language).then(
    texts => localeOf(language, texts),
    () => inEnglish,
  );
  current = next;
  document.documentElement.lang = next.tag;
  listeners.forEach(told => told());
}

/**
 * Chooses a language for this browser; "" follows the browser's own. The cookie
 * tells it to the pages without JavaScript, such as the sign-in.
 */
export function chooseLanguage(language: Language | ''): Promise<void> {
  keep('language', language || null);
  document.cookie = `language=${language}; path=/; max-age=${language ? 31_536_000 : 0}; samesite=lax`;
  return speak();
}

/** Whether there is a text of this key; for keys made of what the server says. */
export const has = (key: string): key is TextKey => key in inEnglish.texts;

/** Says a text in the language of now. */
export function say(key: TextKey, values: Values = {}): string {
  const message = current.texts[key] ?? inEnglish.texts[key] ?? key;
  return fill(formOf(message, current.plurals, values.n), values, current.numbers);
}

export function useLocale(): Locale {
  return useSyncExternalStore(
    told => {
      listeners.add(told);
      return () => listeners.delete(told);
    },
    () => current,
  );
}
