// A project with 10,000 notes: the list is read, scrolled and changed without the
// page holding more than a screenful, and without long breaks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { person, startChromium } from './chromium.mjs';
import { lend, setUp } from './house.mjs';
import { startServer, temporaryFolder } from './server.mjs';

const mara = { name: 'Mara Ruiz', email: 'mara@atlas.example', password: 'a sentence is fine' };
const many = 10_000;

test('a list of 10,000 notes', { timeout: 180_000 }, async t => {
  const server = await startServer(t, await temporaryFolder(t));
  const browser = await startChromium(t);
  const owner = await setUp(server, mara, 'Atlas Foods');
  const workspace = (await owner('GET', '/me')).workspaces[0].id;
  const project = (await owner('POST', `/workspaces/${workspace}/projects`, { name: 'Atlas launch' })).id;
  const address = `/projects/${project}/notes`;
  const real = await owner('POST', address, { title: 'Note of the server', tabs: [{ title: 'Note', markdown: '' }] });
  const her = await person(t, browser);
  await lend(her.context, server, owner);
  const { page } = her;
  // The server has one note; the others are put into its answers, page by page.
  const row = i => ({ ...real, tabs: undefined, id: `note-${i}`, title: `Note ${i}`, updated_at: new Date(Date.parse(real.updated_at) - i * 1000).toISOString() });
  const asked = [];
  await page.route(`**/api/v1${address}?*`, route => {
    const query = new URL(route.request().url()).searchParams;
    const from = Number(query.get('cursor') ?? 0), to = Math.min(many - 1, from + Number(query.get('limit')));
    asked.push(from);
    const items = Array.from({ length: to - from }, (_, i) => row(from + i + 1));
    return route.fulfill({ json: { items: from === 0 ? [{ ...real, tabs: undefined }, ...items] : items, ...(to < many - 1 && { next_cursor: String(to) }) } });
  });

  await page.addInitScript(() => {
    window.breaks = [];
    new PerformanceObserver(list => window.breaks.push(...list.getEntries().map(entry => Math.round(entry.duration)))).observe({ type: 'longtask', buffered: true });
  });
  await page.goto(`${server.url}/p/${project}`);
  const list = page.locator('section[aria-labelledby=notes] ul.list');
  await list.getByRole('link', { name: 'Note of the server' }).waitFor();

  await t.test('is read whole, and the page stays small', async () => {
    await page.waitForFunction(count => document.querySelector('section[aria-labelledby=notes] li[aria-setsize]')?.getAttribute('aria-setsize') === String(count), many, { timeout: 60_000 });
    assert.deepEqual(asked, Array.from({ length: Math.ceil((many - 1) / 200) }, (_, i) => i * 200), 'each page once, in order');
    const { nodes, height } = await page.evaluate(() => ({ nodes: document.querySelectorAll('*').length, height: document.documentElement.scrollHeight }));
    assert.ok(nodes < 3_000, `${nodes} elements are in the page`);
    assert.ok(height > many * 40, `the page is ${height} px high, which is not ${many} rows`);
  });

  await t.test('is scrolled to its end without long breaks', async () => {
    await page.evaluate(() => { window.breaks.length = 0; });
    const frames = await page.evaluate(async () => {
      const gaps = [];
      const steps = 60;
      let before = performance.now();
      for (let i = 1; i <= steps; i++) {
        scrollBy(0, 400);
        for (let j = 0; j < 2; j++) await new Promise(requestAnimationFrame);
        gaps.push(performance.now() - before);
        before = performance.now();
      }
      return gaps.toSorted((a, b) => a - b);
    });
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await list.getByRole('link', { name: `Note ${many - 1}`, exact: true }).waitFor();
    const breaks = await page.evaluate(() => window.breaks);
    const median = frames[frames.length / 2];
    t.diagnostic(`a step of 400 px: median ${median.toFixed(0)} ms, longest ${frames.at(-1).toFixed(0)} ms; tasks over 50 ms: ${breaks.length}, longest ${Math.max(0, ...breaks)} ms`);
    assert.ok(median < 250, `half of the steps took more than ${median} ms`);
    assert.ok(await page.evaluate(() => document.querySelectorAll('*').length) < 3_000);
  });

  await t.test('follows a push, and finds by name', async () => {
    await page.evaluate(() => scrollTo(0, 0));
    await list.getByRole('link', { name: 'Note of the server' }).waitFor();
    const { version } = await owner('GET', `/notes/${real.id}`);
    await owner('PATCH', `/notes/${real.id}`, { title: 'Renamed', expected_version: version });
    await list.getByRole('link', { name: 'Renamed' }).waitFor();
    await page.getByLabel('Filter').fill('note 9876');
    await list.getByRole('link', { name: 'Note 9876', exact: true }).waitFor();
    assert.equal(await list.locator('li').count(), 1);
    assert.deepEqual(her.faults, []);
  });
});
