import optimizeLocales from '@react-aria/optimize-locales-plugin';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { catalogue } from './build/catalogue.ts';
import { compress } from './build/compress.ts';
import { tokens } from './build/tokens.ts';

// `npx vite` serves the app with reloading at its own port and asks the server at
// OSFOUNDRY_URL for everything else; sign in there first.
const server = process.env.OSFOUNDRY_URL ?? 'http://127.0.0.1:8787';

export default defineConfig({
  plugins: [
    tokens(),
    catalogue(),
    react(),
    // React Aria speaks these of ours; Hindi and Indonesian come from our catalogue.
    {
      ...optimizeLocales.vite({ locales: ['en-US', 'es-ES', 'de-DE', 'fr-FR', 'it-IT', 'ko-KR', 'zh-TW'] }),
      enforce: 'pre',
    },
    compress(),
  ],
  build: {
    outDir: '../internal/web/dist/built',
    emptyOutDir: true,
    assetsDir: 'app',
    assetsInlineLimit: 0, // the policy allows files of this server only
    modulePreload: { polyfill: false },
    target: 'es2023',
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // Few files, that change at different times: what others wrote, and what all screens share.
        codeSplitting: {
          groups: [
            { name: 'react', test: /node_modules\/(react|react-dom|scheduler)\//, priority: 3 },
            { name: 'icons', test: /node_modules\/lucide-react\//, priority: 2 },
            { name: 'shared', test: /ui\/src\/(app|parts|data|i18n)\/(?!.*(Palette|KeysHelp))/, priority: 1 },
          ],
        },
      },
    },
  },
  worker: { format: 'es' },
  server: {
    proxy: Object.fromEntries(['/api', '/assets', '/sign-in', '/sign-out', '/connections'].map(path => [path, server])),
  },
});
