import fs from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { Plugin } from 'vite';

const gzip = promisify(zlib.gzip);
const brotli = promisify(zlib.brotliCompress);

/** First load, gzip. ui.md names both. */
const mostScript = 200 * 1024;
const mostStyle = 15 * 1024;

/** Writes NAME.gz and NAME.br beside each script and style sheet, and holds the first load to its budget. */
export function compress(): Plugin {
  let folder = '';
  return {
    name: 'osfoundry:compress',
    apply: 'build',
    configResolved(config) {
      folder = config.build.outDir;
    },
    async writeBundle(_, bundle) {
      const sizes = new Map<string, number>();
      const files = Object.keys(bundle).filter(name => /\.(js|css|svg)$/.test(name));
      await Promise.all(
        files.map(async name => {
          const file = path.join(folder, name);
          const plain = await fs.readFile(file);
          const small = await gzip(plain, { level: 9 });
          sizes.set(name, small.length);
          await fs.writeFile(`${file}.gz`, small);
          await fs.writeFile(`${file}.br`, await brotli(plain));
        }),
      );
      const first = firstLoad(bundle);
      const weight = (end: string) =>
        [...first].filter(name => name.endsWith(end)).reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
      const [script, style] = [weight('.js'), weight('.css')];
      console.log(
        `first load, gzip: ${(script / 1024).toFixed(1)} kB of script, ${(style / 1024).toFixed(1)} kB of style`,
      );
      if (script > mostScript || style > mostStyle) throw new Error('the first load is over its budget');
    },
  };
}

interface Chunk {
  type: string;
  isEntry?: boolean;
  imports?: string[];
  viteMetadata?: { importedCss: Set<string> };
}

/** The entry, what it imports without being asked, and their style sheets. */
function firstLoad(bundle: object): Set<string> {
  const chunks = bundle as Record<string, Chunk>;
  const found = new Set<string>();
  const visit = (name: string) => {
    const chunk = chunks[name];
    if (!chunk || found.has(name)) return;
    found.add(name);
    chunk.viteMetadata?.importedCss.forEach(css => found.add(css));
    chunk.imports?.forEach(visit);
  };
  for (const [name, chunk] of Object.entries(chunks)) if (chunk.isEntry) visit(name);
  return found;
}
