import type { Plugin } from 'vite';

/**
 * Reads the tokens that the pages without JavaScript use, in which dark follows
 * the system, and lets the app's own choice of a theme decide instead.
 */
export function tokens(): Plugin {
  return {
    name: 'osfoundry:tokens',
    enforce: 'pre',
    transform(code, id) {
      if (!id.split('?')[0]!.endsWith('/internal/web/assets/tokens.css')) return;
      const system = /@media \(prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}\s*\}/;
      if (!system.test(code)) throw new Error('tokens.css has no dark theme in the form that is expected');
      return code
        .replace('color-scheme: light dark;', 'color-scheme: light;')
        .replace(system, ':root[data-theme=dark] { color-scheme: dark;$1}');
    },
  };
}
