import type { Plugin } from 'vite';

/** Which texts of the one catalogue the app needs; the others are the pages'. */
export const ofApp = (key: string) => /^(app|role|status|host)\./.test(key);

/** Leaves out of locales/*.json what only the pages without JavaScript say. */
export function catalogue(): Plugin {
  return {
    name: 'osfoundry:catalogue',
    enforce: 'pre',
    transform(code, id) {
      if (!/\/internal\/web\/locales\/[\w-]+\.json$/.test(id.split('?')[0]!)) return;
      const texts = Object.entries(JSON.parse(code) as Record<string, unknown>).filter(([key]) => ofApp(key));
      return JSON.stringify(Object.fromEntries(texts));
    },
  };
}
