import { locale } from '../../i18n/locale.ts';

const unit = (value: number, name: 'hour' | 'minute' | 'second') =>
  new Intl.NumberFormat(locale().tag === 'en-XA' ? 'en' : locale().tag, {
    style: 'unit',
    unit: name,
    unitDisplay: 'short',
    maximumFractionDigits: name === 'second' && value < 10 ? 1 : 0,
  }).format(value);

/** How long something took: 0.4 sec, 48 sec, 2 min 10 sec, 1 hr 5 min. */
export function spent(millis: number): string {
  const seconds = millis / 1000;
  if (seconds < 60) return unit(seconds, 'second');
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return [unit(minutes, 'minute'), unit(Math.floor(seconds % 60), 'second')].join(' ');
  return [unit(Math.floor(minutes / 60), 'hour'), unit(minutes % 60, 'minute')].join(' ');
}
