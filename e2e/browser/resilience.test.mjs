// What goes wrong around the web app: the session ends, the server goes away and
// comes back, as another version too, and others write all the time. Nothing that
// a person typed is lost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect, person, startChromium } from './chromium.mjs';
import { lend, setUp, signInAs } from './house.mjs';
import { build, startServer, temporaryFolder } from './server.mjs';

const mara = { name: 'Mara Ruiz', email: 'mara@atlas.example', password: 'a sentence is fine' };
const sentence = 'We cannot share the customer list with an outside assistant.';
assert.equal(sentence.length, 60);

test('the web app in bad weather', { timeout: 900_000 }, async t => {
  const folder = await temporaryFolder(t);
  const server = await startServer(t, folder);
  const browser = await startChromium(t);
  let owner = await setUp(server, mara, 'Atlas Foods');
  const workspace = (await owner('GET', '/me')).workspaces[0].id;
  const project = await owner('POST', `/workspaces/${workspace}/projects`, { name: 'Atlas launch' });
  const note = await owner('POST', `/projects/${project.id}/notes`, { title: 'Launch brief', tabs: [{ title: 'Brief', markdown: 'Text.\n' }] });
  const session = await owner('POST', `/projects/${project.id}/agent-sessions`, {
    type: 'agent', title: 'Supplier outreach', agents: [{ slug: 'drafter', instructions: 'Draft.', provider: 'rehearsal', tools: [] }],
  });
  const tab = `/notes/${note.id}/tabs/${note.tabs[0].id}`;
  const text = async () => (await owner('GET', tab)).markdown;

  const her = await person(t, browser);
  await lend(her.context, server, owner);
  const { page } = her;
  her.expected.push(/\/api\/v1\//, /\/theme\.js/); // refused while the server is away
  const look = (name, options) => inspect(her, `resilience-${name}`, { app: true, ...options });
  const editor = page.locator('.cm-content');
  const openNote = async () => {
    await page.goto(`${server.url}/p/${project.id}/notes/${note.id}`);
    await editor.waitFor();
    await page.locator('.live').waitFor({ state: 'attached' });
  };
  const saved = () => page.locator('[data-saving=saved]').waitFor({ timeout: 30_000 });
  const typeAtStart = async words => {
    await editor.click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.type(words);
  };

  /** Changes two things twenty times a second until it is told to stop; says how often. */
  const pushing = () => {
    let on = true;
    const write = async (path, i) => {
      const { version } = await owner('GET', path);
      await owner('PATCH', path, { title: `Changed ${i} times`, expected_version: version });
    };
    const run = async path => {
      let i = 0;
      for (let next = Date.now(); on; next += 100) {
        await write(path, ++i);
        await new Promise(resolve => setTimeout(resolve, Math.max(0, next + 100 - Date.now())));
      }
      return i;
    };
    const began = Date.now();
    const both = [run(`/notes/${note.id}`), run(`/agent-sessions/${session.id}`)];
    return async () => {
      on = false;
      const writes = (await Promise.all(both)).reduce((a, b) => a + b);
      return writes / ((Date.now() - began) / 1000);
    };
  };
  const typeSlowly = async () => {
    for (const letter of sentence) {
      await page.keyboard.type(letter);
      await page.waitForTimeout(50);
    }
  };

  await t.test('60 of 60 characters in the note editor survive 20 pushes a second', async () => {
    await openNote();
    await editor.click();
    await page.keyboard.press('Control+Home');
    const stop = pushing();
    await typeSlowly();
    const rate = await stop();
    assert.ok(rate > 10, `only ${rate.toFixed(1)} writes a second`);
    await saved();
    assert.equal(await text(), `${sentence}Text.\n`);
    assert.equal(await page.evaluate(() => document.activeElement?.className.includes('cm-content')), true, 'the focus stayed');
  });

  await t.test('60 of 60 characters in a goal survive 20 pushes a second', async () => {
    await page.goto(`${server.url}/s/${session.id}/tasks`);
    await page.getByRole('main').getByRole('button', { name: 'New task' }).first().click();
    const goal = page.getByRole('dialog').getByLabel('Goal');
    await goal.click();
    const stop = pushing();
    await typeSlowly();
    const rate = await stop();
    assert.ok(rate > 10, `only ${rate.toFixed(1)} writes a second`);
    assert.equal(await goal.inputValue(), sentence);
    assert.equal(await goal.evaluate(field => field === document.activeElement), true, 'the focus stayed');
    await page.keyboard.press('Escape');
  });

  await t.test('text that is typed while the session ends is saved after signing in again', async () => {
    await openNote();
    await owner('POST', '/sign-out');
    await page.getByRole('dialog', { name: 'Sign in again to go on' }).waitFor({ timeout: 20_000 });
    await look('signed-out');
    owner = await signInAs(server, mara);
    await page.getByLabel('Password').fill('a wrong sentence here');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await page.getByLabel('Password').fill(mara.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    // Between the end of a session and the dialog there is time for some words.
    let ended = true;
    await page.route(`**/api/v1${tab}`, async route => {
      if (route.request().method() !== 'PATCH' || !ended) return route.continue();
      return route.fulfill({ status: 401, contentType: 'application/json', body: '{"error":{"code":"unauthenticated","message":"Sign in to go on."}}' });
    });
    await typeAtStart('Typed meanwhile. ');
    await page.getByRole('dialog', { name: 'Sign in again to go on' }).waitFor();
    assert.match(await editor.textContent(), /Typed meanwhile\./);
    ended = false;
    await page.getByLabel('Password').fill(mara.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await typeAtStart('Again. ');
    await saved();
    assert.match(await text(), /^Again\. Typed meanwhile\. /);
    await page.unroute(`**/api/v1${tab}`);
  });

  await t.test('a server that restarts is found again, and says nothing for a moment', async () => {
    await openNote();
    await saved();
    await server.stop();
    await typeAtStart('Without a server. ');
    const began = Date.now();
    await page.getByText('Reconnecting…').waitFor({ timeout: 15_000 });
    assert.ok(Date.now() - began > 1_500, 'a short break is nobody’s concern');
    assert.match(await editor.textContent(), /Without a server\./);
    await look('reconnecting');
    await server.again();
    await page.getByText('Reconnecting…').waitFor({ state: 'detached', timeout: 30_000 });
    await typeAtStart('Back. ');
    await saved();
    assert.match(await text(), /^Back\. Without a server\. /);
    const { version } = await owner('GET', `/notes/${note.id}`);
    await owner('PATCH', `/notes/${note.id}`, { title: 'Live again', expected_version: version });
    await page.getByRole('heading', { name: 'Live again' }).or(page.getByRole('textbox', { name: 'Live again' })).first().waitFor();
  });

  await t.test('without a server for long, the page says since when, and refuses at once', async () => {
    await page.goto(`${server.url}/p/${project.id}`);
    await page.locator('h1', { hasText: 'Atlas launch' }).waitFor();
    await server.stop();
    await page.getByText(/^Offline\./).waitFor({ timeout: 60_000 });
    await look('offline');
    await page.getByRole('main').getByRole('button', { name: 'New note' }).first().click();
    await page.getByLabel('Title').fill(sentence);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('alert').waitFor();
    assert.equal(await page.getByLabel('Title').inputValue(), sentence);
    await look('offline-refused');
    await server.again();
    await page.getByText(/^Offline\./).waitFor({ state: 'detached', timeout: 40_000 });
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal((await owner('GET', `/projects/${project.id}/notes`)).items.filter(one => one.title === sentence).length, 1);
  });

  await t.test('a new version says so, and waits for the person', async () => {
    const newer = await build(folder, '9.9.9');
    await page.goto(`${server.url}/p/${project.id}`);
    await page.locator('h1', { hasText: 'Atlas launch' }).waitFor();
    await page.evaluate(() => { window.samePage = true; });
    await server.stop();
    await server.again(newer);
    await page.getByRole('button', { name: 'Reload' }).waitFor({ timeout: 30_000 });
    assert.equal(await page.evaluate(() => window.samePage), true, 'the page did not reload by itself');
    await look('new-version');
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.waitForFunction(() => !window.samePage);
    await page.locator('h1', { hasText: 'Atlas launch' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Reload' }).count(), 0);
  });

  await t.test('eight tabs over plain HTTP share one stream and answer at once', async () => {
    const context = await browser.newContext();
    await lend(context, server, owner);
    let streams = 0;
    context.on('request', request => { if (request.url().endsWith('/api/v1/events') && !request.serviceWorker()) streams++; });
    const tabs = [];
    for (let i = 0; i < 8; i++) {
      const one = await context.newPage();
      await one.goto(`${server.url}/p/${project.id}`);
      await one.getByRole('main').getByRole('link', { name: sentence }).waitFor({ timeout: 10_000 });
      tabs.push(one);
    }
    assert.ok(streams <= 1, `${streams} streams`);
    await owner('POST', `/projects/${project.id}/notes`, { title: 'Seen by all', tabs: [{ title: 'Note', markdown: '' }] });
    await Promise.all(tabs.map(one => one.getByRole('main').getByRole('link', { name: 'Seen by all' }).waitFor({ timeout: 5_000 })));
    const took = await Promise.all(tabs.map(one => one.evaluate(async () => {
      const began = performance.now();
      await (await fetch('/api/v1/me')).json();
      return performance.now() - began;
    })));
    assert.ok(Math.max(...took) < 2_000, `a call took ${Math.max(...took).toFixed(0)} ms`);
    await context.close();
  });
});
