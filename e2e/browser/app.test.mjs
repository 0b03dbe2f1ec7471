// The web app in Chromium, against the real server: every screen with its empty,
// loading, failed and denied states, in both themes and all widths, and what
// people do in it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, lend, setUp, signInAs } from './house.mjs';
import { inspect, person, startChromium } from './chromium.mjs';
import { startServer, temporaryFolder } from './server.mjs';

const mara = { name: 'Mara Ruiz', email: 'mara@atlas.example', password: 'a sentence is fine' };
const jonas = { name: 'Jonas Weber', email: 'jonas@atlas.example', password: 'another fine sentence' };

const brief = `## What we ship

The October price list goes to **214 suppliers**. Suppliers without a signed NDA get the public list.

- [x] Legal agreed the wording
- [ ] Translate to Korean and Hindi

| Name | NDA |
| --- | --: |
| Nordkorn | yes |

See [NDA status](/p/none) and <https://example.com>.
`;

/** Waits until the page has its heading and nothing is being read any more. */
async function settled(page, title) {
  await page.locator('h1', { hasText: title }).waitFor();
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
}

const editor = page => page.locator('.cm-content');

test('the web app', { timeout: 900_000 }, async t => {
  const folder = await temporaryFolder(t);
  const server = await startServer(t, folder);
  const browser = await startChromium(t);
  const owner = await setUp(server, mara, 'Atlas Foods');
  const workspace = (await owner('GET', '/me')).workspaces[0].id;
  const home = `${server.url}/w/${workspace}`;
  const her = await person(t, browser);
  await lend(her.context, server, owner);
  const { page } = her;
  const look = (name, options) => inspect(her, `app-${name}`, { app: true, ...options });
  const open = async (path, title) => {
    await page.goto(server.url + path);
    await settled(page, title);
  };

  await t.test('the app is in this server', async () => {
    const answer = await page.goto(server.url);
    assert.match(await answer.text(), /id="root"/, 'the server was built without the app; run make ui first');
    await page.waitForURL(home);
  });

  await t.test('empty screens say what fills them', async () => {
    await settled(page, 'Mara');
    await look('home-empty');
    await open(`/w/${workspace}/assistants`, 'Connected assistants');
    await look('assistants-empty');
    await open('/settings/tokens', 'Settings');
    await look('tokens-empty');
    await page.goto(home);
    await page.getByRole('main').getByRole('button', { name: 'New project' }).last().click();
    await page.getByLabel('Name').fill('Atlas launch');
    await look('new-project');
    await page.getByRole('button', { name: 'Create project' }).click();
    await settled(page, 'Atlas launch');
    await page.getByText('Atlas launch created').waitFor();
    await look('project-empty');
    await page.getByRole('link', { name: 'Access' }).click();
    await settled(page, 'Access to Atlas launch');
    await look('access-empty');
  });

  const project = (await owner('GET', `/workspaces/${workspace}/projects`)).items[0].id;
  const note = await owner('POST', `/projects/${project}/notes`, {
    title: 'Launch brief', tabs: [{ title: 'Brief', markdown: brief }, { title: 'Open questions', markdown: '' }, { title: 'Decisions', markdown: 'None yet.\n' }],
  });
  for (const title of ['Price list, October', 'NDA status']) {
    await owner('POST', `/projects/${project}/notes`, { title, tabs: [{ title: 'Note', markdown: 'Text.\n' }] });
  }
  await owner('POST', `/workspaces/${workspace}/members`, { ...jonas, role: 'editor' });
  const noteAddress = `/p/${project}/notes/${note.id}`;
  let claude;

  await t.test('connecting an assistant shows live, and leads to a project', async () => {
    await open(`/w/${workspace}/connect?host=codex`, 'Connect an assistant');
    await look('connect');
    claude = await connect(t, browser, server, owner, 'Claude', workspace);
    await page.getByRole('heading', { name: 'Claude connected to Atlas Foods' }).waitFor();
    await look('connected');
    await page.getByRole('main').getByRole('button', { name: 'Add to project' }).click();
    await page.getByText('Claude added to Atlas launch').waitFor();
    assert.equal((await claude.call('read_note', { note_id: note.id })).title, 'Launch brief');
  });

  await t.test('every screen holds in both themes and all widths', async () => {
    const codex = await connect(t, browser, server, owner, 'Codex CLI', workspace);
    assert.equal((await codex.call('read_note', { note_id: note.id })).code, 'not_in_project');
    const connections = (await owner('GET', `/workspaces/${workspace}/connections`)).items;
    for (const [name, path, title] of [
      ['home', `/w/${workspace}`, 'Mara'],
      ['activity', `/w/${workspace}/activity`, 'Activity'],
      ['assistants', `/w/${workspace}/assistants`, 'Connected assistants'],
      ['assistant', `/w/${workspace}/assistants/${connections[0].id}`, 'Claude'],
      ['people', `/w/${workspace}/people`, 'People'],
      ['project', `/p/${project}`, 'Atlas launch'],
      ['access-connected', `/p/${project}/access`, 'Access to Atlas launch'],
      ['access-people', `/p/${project}/access/people`, 'Access to Atlas launch'],
      ['access-log', `/p/${project}/access/log`, 'Access to Atlas launch'],
      ['note', noteAddress, 'Launch brief'],
      ['note-history', `${noteAddress}?history`, 'Launch brief'],
      ['settings', '/settings', 'Settings'],
      ['appearance', '/settings/appearance', 'Settings'],
      ['not-found', `/w/${workspace}/nothing`, 'Not found'],
    ]) {
      await open(path, title);
      if (name === 'note') await editor(page).waitFor();
      await look(name);
    }
    await open(noteAddress, 'Launch brief');
    await page.locator('label', { hasText: /^Read$/ }).click();
    await page.locator('.prose').waitFor();
    await look('note-read');
    await page.locator('label', { hasText: /^Edit$/ }).click();
  });

  await t.test('dialogs, menus and the palette hold too', async () => {
    await open(`/p/${project}/access`, 'Access to Atlas launch');
    await page.getByRole('button', { name: 'More actions for Claude' }).click();
    await page.getByRole('menuitem', { name: 'Revoke connection…' }).waitFor();
    await look('menu', { grows: false });
    await page.getByRole('menuitem', { name: 'Revoke connection…' }).click();
    await page.getByRole('alertdialog').waitFor();
    await look('revoke');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('launch');
    await look('palette');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await look('keys');
    await page.keyboard.press('Escape');
  });

  await t.test('what is loading, failed or refused says so', async () => {
    const path = `**/api/v1/projects/${project}/notes*`;
    let release;
    const held = new Promise(resolve => { release = resolve; });
    await page.route(path, async route => { await held; await route.continue(); });
    await page.goto(`${server.url}/p/${project}`);
    await page.locator('.bars').first().waitFor();
    await look('project-loading');
    release();
    await page.getByRole('main').getByRole('link', { name: 'NDA status' }).waitFor();
    await page.unroute(path);
    her.expected.push(/\/notes\?/);
    await page.route(path, route => route.fulfill({ status: 500, contentType: 'application/json', body: '{"error":{"code":"internal","message":"The call failed."}}' }));
    await page.goto(`${server.url}/p/${project}`);
    await page.getByRole('main').getByRole('alert').waitFor();
    await look('project-failed');
    await page.unroute(path);
    await page.getByRole('main').getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('main').getByRole('link', { name: 'NDA status' }).waitFor();

    const him = await person(t, browser);
    await lend(him.context, server, await signInAs(server, jonas));
    const hidden = await owner('POST', `/workspaces/${workspace}/projects`, { name: 'Secret plans', private: true });
    him.expected.push(/\/projects\//);
    await him.page.goto(`${server.url}/p/${hidden.id}`);
    await him.page.locator('h1', { hasText: /Not allowed|Not found/ }).waitFor();
    assert.doesNotMatch(await him.page.content(), /Secret plans/);
    await inspect(him, 'app-denied', { app: true });
    await him.page.goto(`${home}/activity`);
    await him.page.locator('h1').waitFor();
    await inspect(him, 'app-activity-denied', { app: true });
  });

  await t.test('a note is saved as it is written, and follows others', async () => {
    await open(noteAddress, 'Launch brief');
    await editor(page).click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('First line.\n');
    await page.locator('[data-saving=saved]').waitFor();
    const tab = () => owner('GET', `/notes/${note.id}/tabs/${note.tabs[0].id}`);
    assert.equal((await tab()).markdown, `First line.\n${brief}`, 'the rest is as it was, to the byte');
    const { version } = await tab();
    await claude.call('append_note_tab', { note_id: note.id, tab_id: note.tabs[0].id, text: 'From the assistant.\n', markdown: 'From the assistant.\n', expected_version: version, idempotency_key: 'append-0001' });
    if ((await tab()).version === version) await owner('PATCH', `/notes/${note.id}/tabs/${note.tabs[0].id}`, { markdown: `${(await tab()).markdown}From the assistant.\n`, expected_version: version });
    await page.getByText('From the assistant.').waitFor();
  });

  await t.test('two who write at once lose nothing', async () => {
    await open(noteAddress, 'Launch brief');
    await editor(page).click();
    await page.keyboard.press('Control+Home');
    const address = `/notes/${note.id}/tabs/${note.tabs[0].id}`;
    await page.route(`**/api/v1${address}`, async route => {
      if (route.request().method() !== 'PATCH') return route.continue();
      const { markdown, version } = await owner('GET', address); // another is quicker, each time
      if (!markdown.includes('Theirs.')) await owner('PATCH', address, { markdown: `${markdown}Theirs.\n`, expected_version: version });
      await route.continue();
    });
    her.expected.push(/\/tabs\//);
    await page.keyboard.type('Mine.\n');
    await page.locator('[data-saving=conflict]').waitFor();
    await page.getByRole('button', { name: 'See both' }).first().waitFor();
    await look('conflict');
    await page.getByRole('button', { name: 'See both' }).first().click();
    await page.getByRole('dialog').waitFor();
    await look('conflict-both');
    await page.getByRole('dialog').getByRole('button', { name: 'Merge' }).click();
    await page.locator('[data-saving=saved]').waitFor();
    await page.unroute(`**/api/v1${address}`);
    const { markdown } = await owner('GET', address);
    assert.match(markdown, /^Mine\.\n/);
    assert.match(markdown, /Theirs\.\n$/);
    await open(`${noteAddress}?history`, 'Launch brief');
    await page.locator('.diff').waitFor();
    await look('note-history-diff');
  });

  await t.test('typing, focus and open folds survive 20 pushes a second', async () => {
    await open(`/w/${workspace}/activity`, 'Activity');
    await page.locator('details > summary').first().click();
    await open(`/p/${project}`, 'Atlas launch');
    const pushes = (async () => {
      for (let i = 0; i < 60; i++) {
        const { version } = await owner('GET', `/notes/${note.id}`);
        await owner('PATCH', `/notes/${note.id}`, { title: `Launch brief ${i}`, expected_version: version });
      }
    })();
    const text = 'We cannot share the customer list with an outside assistant.';
    await page.getByRole('main').getByRole('button', { name: 'New note' }).first().click();
    for (const letter of text) {
      await page.keyboard.type(letter);
      await page.waitForTimeout(35);
    }
    await pushes;
    assert.equal(await page.getByLabel('Title').inputValue(), text);
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('name')), 'title');
    await page.keyboard.press('Escape');
    await page.getByRole('main').getByRole('link', { name: 'Launch brief 59' }).waitFor();
  });

  await t.test('eight tabs share one stream', async () => {
    const context = await browser.newContext();
    await lend(context, server, owner);
    const tabs = [];
    for (let i = 0; i < 8; i++) {
      const tab = await context.newPage();
      await tab.goto(`${server.url}/p/${project}`);
      await tab.locator('h1', { hasText: 'Atlas launch' }).waitFor({ timeout: 10_000 });
      tabs.push(tab);
    }
    await owner('POST', `/projects/${project}/notes`, { title: 'Seen by all', tabs: [{ title: 'Note', markdown: '' }] });
    await Promise.all(tabs.map(tab => tab.getByRole('main').getByRole('link', { name: 'Seen by all' }).waitFor({ timeout: 10_000 })));
    await context.close();
  });

  await t.test('a session that ends is begun again over the page', async () => {
    await open(`/p/${project}`, 'Atlas launch');
    her.expected.push(/\/api\/v1\//);
    await owner('POST', '/sign-out');
    await page.getByRole('dialog', { name: 'Sign in again to go on' }).waitFor({ timeout: 20_000 });
    await look('sign-in-again');
    await page.getByLabel('Password').fill(mara.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await settled(page, 'Atlas launch');
  });

  await t.test('revoking ends the assistant’s next call', async () => {
    await open(`/w/${workspace}/assistants`, 'Connected assistants');
    await page.getByRole('main').getByRole('link', { name: 'Claude', exact: true }).click();
    await settled(page, 'Claude');
    await page.getByRole('button', { name: 'Revoke connection…' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Claude revoked. It can no longer reach Atlas Foods.').waitFor();
    assert.equal((await claude.call('read_note', { note_id: note.id })).code, 'connection_revoked');
    await open(`/w/${workspace}/activity?decision=denied`, 'Activity');
    await page.getByText('The connection was revoked').first().waitFor();
    await look('activity-refused');
  });

  await t.test('every text comes from the catalogue, and has room to grow', async () => {
    await page.evaluate(() => localStorage.setItem('osfoundry.language', 'en-XA'));
    const names = ['Atlas', 'Mara', 'Jonas', 'Claude', 'Codex', 'Launch', 'NDA', 'Price', 'Seen', 'osFoundry', 'Secret'];
    for (const path of [`/w/${workspace}`, `/w/${workspace}/assistants`, `/w/${workspace}/people`, `/w/${workspace}/activity`, `/p/${project}`, `/p/${project}/access`, '/settings/appearance', '/settings/tokens', noteAddress]) {
      await page.goto(server.url + path);
      await page.locator('h1').waitFor();
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      const plain = await page.evaluate(() => {
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        const found = [];
        while (walker.nextNode()) {
          const { parentElement, nodeValue } = walker.currentNode;
          if (/[a-z]{3}/i.test(nodeValue) && !parentElement.closest('bdi, code, time, .mono, .cm-editor, noscript, script, option, kbd')) found.push(nodeValue.trim());
        }
        return found;
      });
      const english = plain.filter(text => /[a-z]{3}/.test(text.replace(/\{\w+\}/g, '')) && !text.includes('·') && !names.some(name => text.includes(name)));
      assert.deepEqual(english, [], `${path}: text that is not in the catalogue`);
      await look(`pseudo${path.replace(/[^a-z]+/g, '-').slice(0, 24)}`);
    }
    await page.evaluate(() => localStorage.removeItem('osfoundry.language'));
  });
});
