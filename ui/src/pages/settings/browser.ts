// Names in the order in which they decide: browsers name others, whose pages they
// want to get.
const browsers = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['CriOS', 'Chrome'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const;

const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const;

/** A browser and its system as people call them: product names, in no language. */
export function browserOf(userAgent: string): string | undefined {
  const browser = browsers.find(([mark]) => userAgent.includes(`${mark}/`))?.[1];
  const system = systems.find(([mark]) => userAgent.includes(mark))?.[1];
  return [browser, system].filter(Boolean).join(' · ') || undefined;
}
