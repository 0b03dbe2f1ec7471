import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test, vi } from 'vitest';

vi.stubGlobal('location', new URL('https://foundry.example/p/1'));
vi.stubGlobal('navigator', { languages: ['en'] });
const { default: Markdown, targetOf } = await import('./Markdown.tsx');
const html = (text: string, showHosts = false) => renderToStaticMarkup(<Markdown text={text} showHosts={showHosts} />);

test('HTML in a note is text', () => {
  const shown = html('<script>alert(1)</script>\n\nA <img src=x onerror=alert(1)> b <b>c</b>');
  expect(shown).not.toMatch(/<(script|img|b)\b/);
  expect(shown).toContain('&lt;script&gt;');
});

test('a picture is its address', () => {
  expect(html('![x](https://evil.example/a.png?secret)')).not.toContain('<img');
  expect(html('![x](https://evil.example/a.png?secret)')).toContain('https://evil.example/a.png?secret');
});

test.each([
  ['https://claude.ai/x', 'claude.ai', false],
  ['http://example.com', 'example.com', false],
  ['mailto:mara@atlas.example', 'mara@atlas.example', false],
  ['/p/2/notes/3', 'foundry.example', true],
])('%s leads to %s', (href, host, inside) => {
  expect(targetOf(href)).toMatchObject({ host, inside });
});

test.each([
  'javascript:alert(1)',
  'JAVASCRIPT:alert(1)',
  'data:text/html,x',
  '//evil.example',
  '/\\evil.example',
  'vbscript:x',
  'file:///etc/passwd',
  ' javascript:x',
  'blob:https://x/y',
  'relative',
])('%s is no link', href => {
  expect(targetOf(href)).toBeUndefined();
  expect(html(`[text](${href})`)).not.toContain('<a ');
});

test('links of an outside assistant say where they lead', () => {
  expect(html('[Bank](https://evil.example/login)', true)).toContain('(evil.example)');
  expect(html('[Bank](https://evil.example/login)')).toContain('rel="noopener noreferrer nofollow"');
});

test('no heading leaves out a level, and none is an h1', () => {
  expect(html('# A\n\n#### B\n\n## C').match(/<h\d/g)).toEqual(['<h2', '<h3', '<h3']);
});

test('hidden characters are taken out', () => {
  expect(html('a\u202Eb\u200Bc')).toContain('<p dir="auto">abc</p>');
});
