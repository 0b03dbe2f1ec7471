import { keep, kept } from '../data/kept.ts';

export type Theme = 'system' | 'light' | 'dark';
export type Density = 'comfortable' | 'compact';

export const theme = (): Theme => (kept('theme') as Theme | null) ?? 'system';
export const density = (): Density => (kept('density') === 'compact' ? 'compact' : 'comfortable');

/** theme.js, which runs before all else, hears of a change by this event. */
const changed = () => dispatchEvent(new Event('osfoundry:appearance'));

export function chooseTheme(choice: Theme): void {
  keep('theme', choice === 'system' ? null : choice);
  changed();
}

export function chooseDensity(choice: Density): void {
  keep('density', choice === 'compact' ? choice : null);
  changed();
}
