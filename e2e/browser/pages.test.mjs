// The journeys of a person through the pages without JavaScript, in Chromium,
// against the real server: setup, sign-in, consent with each kind of redirect,
// cancel, and what is shown when something is wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect, person, startChromium, tabTo } from './chromium.mjs';
import { authorizeURL, callback, certificate, redeem, register, startServer, temporaryFolder } from './server.mjs';

const mara = { name: 'Mara Ruiz', email: 'mara@atlas.example', password: 'a sentence is fine' };
const title = page => page.locator('h1').textContent();

/** Does what leads to another page, and waits for that page. */
async function go(page, act) {
  const loaded = page.waitForEvent('load');
  await (typeof act === 'string' ? page.click(act) : act());
  await loaded;
}

async function signIn(page, { email, password }) {
  await page.fill('input[name=email]', email);
  await page.fill('input[name=password]', password);
  await go(page, 'button:has-text("Sign in")');
}

/** Waits to be signed in, which leads to the web app if there is one, and goes to the page without JavaScript. */
async function inside(page, server) {
  await page.waitForURL(url => url.pathname === '/' || url.pathname.startsWith('/w/'));
  await page.goto(`${server.url}/connections`);
}

async function choose(page, workspace) {
  const row = page.locator('.row', { hasText: workspace }).first();
  await row.locator('input[name=workspace_id]').check();
  await row.locator('input[name=approve]').check();
}

test('the pages without JavaScript', { timeout: 300_000 }, async t => {
  const folder = await temporaryFolder(t);
  const server = await startServer(t, folder);
  const browser = await startChromium(t);
  const owner = await person(t, browser);
  const { page } = owner;

  await t.test('setup makes the first owner, once', async () => {
    await page.goto(server.url);
    assert.equal(page.url(), `${server.url}/setup`);
    await page.fill('input[name=secret]', 'not the code');
    await page.fill('input[name=name]', mara.name);
    await page.fill('input[name=email]', mara.email);
    await page.fill('input[name=password]', mara.password);
    await page.fill('input[name=workspace]', 'Atlas Foods');
    await go(page, 'text=Create workspace');
    assert.match(await page.locator('#error').textContent(), /The setup code is wrong/);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'error', 'the error has the focus');
    assert.equal(await page.inputValue('input[name=email]'), mara.email);
    assert.equal(await page.inputValue('input[name=password]'), '');
    await inspect(owner, 'setup-refused');

    await page.goto(server.setup);
    assert.match(await page.inputValue('input[name=secret]'), /^osf_set_/);
    await inspect(owner, 'setup');
    for (const field of ['name', 'email', 'password', 'workspace']) {
      await tabTo(page, `input[name=${field}]`);
      await page.keyboard.type(field === 'workspace' ? 'Atlas Foods' : mara[field]);
    }
    await go(page, () => page.keyboard.press('Enter'));
    await inside(page, server);
    assert.equal(await title(page), `Hello, ${mara.name}`);
    assert.equal(await page.inputValue('#mcp'), server.mcp);
    const again = await page.goto(server.setup);
    assert.equal(again.status(), 404);
    await inspect(owner, 'not-found');
  });

  await t.test('signing out and in', async () => {
    await page.goto(`${server.url}/connections`);
    await go(page, 'text=Sign out');
    await inspect(owner, 'sign-out');
    await go(page, 'button:has-text("Sign out")');
    assert.match(await page.locator('[role=status]').textContent(), /You are signed out/);
    await inspect(owner, 'sign-in');
    await signIn(page, { ...mara, password: 'another sentence' });
    assert.equal(await page.locator('#error').innerText(), 'Email or password is wrong.');
    assert.equal(await page.inputValue('input[name=email]'), mara.email);
    await inspect(owner, 'sign-in-refused');
    await tabTo(page, 'input[name=password]');
    await page.keyboard.type(mara.password);
    await go(page, () => page.keyboard.press('Enter'));
    await inside(page, server);
    const lab = await owner.context.request.post(`${server.url}/api/v1/workspaces`, { data: { name: 'Atlas Lab' } });
    assert.equal(lab.status(), 201, await lab.text());
  });

  await t.test('an invited person chooses a password', async () => {
    const workspaces = await (await owner.context.request.get(`${server.url}/api/v1/workspaces`)).json();
    const atlas = workspaces.items.find(w => w.name === 'Atlas Foods');
    const added = await owner.context.request.post(`${server.url}/api/v1/workspaces/${atlas.id}/members`, { data: { email: 'jonas@atlas.example', name: 'Jonas Weber', role: 'viewer' } });
    assert.equal(added.status(), 201, await added.text());
    const jonas = await person(t, browser);
    await jonas.page.goto((await added.json()).invite_url);
    await inspect(jonas, 'invitation');
    await jonas.page.fill('input[name=password]', 'short');
    await go(jonas.page, 'text=Save password and sign in');
    assert.match(await jonas.page.locator('#error').textContent(), /Password must have at least 12 characters/);
    await inspect(jonas, 'invitation-refused');
    await jonas.page.fill('input[name=password]', 'another fine sentence');
    await go(jonas.page, 'text=Save password and sign in');
    await inside(jonas.page, server);
    assert.equal(await title(jonas.page), 'Hello, Jonas Weber');

    const redirect = 'cursor://anysphere.cursor-mcp/oauth/callback';
    await jonas.page.goto(authorizeURL(server, await register(server, 'Cursor', redirect), redirect).url);
    assert.match(await jonas.page.locator('main').textContent(), /You can’t connect an assistant to any workspace here/);
    assert.equal(await jonas.page.locator('button[value=connect]').count(), 0);
    await inspect(jonas, 'consent-impossible');
  });

  await t.test('consent for an https redirect leaves for it', async t => {
    const back = await callback(t, await certificate(folder, 'assistant.example'));
    const redirect = `https://assistant.example:${back.port}/callback?kept=1`;
    const client = await register(server, 'Claude', redirect);
    const newcomer = await person(t, browser); // signed out: the request survives the sign-in
    const asked = authorizeURL(server, client, redirect, 'st&te "1"');
    await newcomer.page.goto(asked.url);
    assert.equal(await title(newcomer.page), 'Sign in to connect Claude');
    assert.match(await newcomer.page.locator('.lead').textContent(), new RegExp(`assistant\\.example:${back.port}`));
    await inspect(newcomer, 'sign-in-to-connect');
    await signIn(newcomer.page, mara);
    assert.equal(await title(newcomer.page), 'Claude asks to connect');
    assert.equal(await newcomer.page.locator('input[name=workspace_id]:checked').count(), 0);
    await inspect(newcomer, 'consent');
    await newcomer.page.locator('input[name=workspace_id]').first().check();
    await go(newcomer.page, 'button[value=connect]'); // without the approval
    assert.match(await newcomer.page.locator('#error').textContent(), /Nothing was connected yet\. Tick the approval/);
    assert.equal(await newcomer.page.evaluate(() => document.activeElement.id), 'error', 'the error has the focus');
    assert.equal(await newcomer.page.locator('input[name=workspace_id]:checked').count(), 1);
    await inspect(newcomer, 'consent-refused');
    await choose(newcomer.page, 'Atlas Foods');
    await newcomer.page.locator('input[name=scope][value="osfoundry:run"]').uncheck();
    await go(newcomer.page, 'button[value=connect]');
    const got = await back.next();
    await newcomer.page.waitForURL(redirect.split('?')[0] + '**');
    assert.equal(await title(newcomer.page), 'Back at the assistant');
    assert.equal(got.kept, '1');
    assert.equal(got.state, asked.state);
    assert.equal(got.iss, server.url);
    assert.deepEqual(newcomer.faults, []);
    const tokens = await redeem(server, client, redirect, got.code, asked.verifier);
    assert.equal(tokens.status, 200, JSON.stringify(tokens.body));
    assert.equal(tokens.body.scope, 'osfoundry:read osfoundry:write');
  });

  await t.test('consent for a program on this computer, by keyboard', async t => {
    const back = await callback(t);
    const registered = 'http://127.0.0.1/callback';
    const redirect = `http://127.0.0.1:${back.port}/callback`; // its port is known late
    const client = await register(server, 'Codex', registered);
    const asked = authorizeURL(server, client, redirect);
    await page.goto(asked.url);
    assert.match(await page.locator('main').textContent(), /This leads to a program on this computer/);
    assert.match(await page.locator('dd.host').first().textContent(), new RegExp(`this computer 127\\.0\\.0\\.1:${back.port}`));
    await inspect(owner, 'consent-loopback');
    await tabTo(page, 'input[name=workspace_id]');
    await page.keyboard.press('Space');
    await tabTo(page, 'input[name=approve]');
    await page.keyboard.press('Space');
    await inspect(owner, 'consent-chosen');
    await tabTo(page, 'button[value=connect]');
    await go(page, () => page.keyboard.press('Enter'));
    const got = await back.next();
    await page.waitForURL(`${redirect}**`);
    assert.equal(got.state, asked.state);
    assert.deepEqual(owner.faults, []);
    const tokens = await redeem(server, client, redirect, got.code, asked.verifier);
    assert.equal(tokens.status, 200, JSON.stringify(tokens.body));
    assert.equal(tokens.body.scope, 'osfoundry:read osfoundry:write osfoundry:run');

    await page.goto(authorizeURL(server, client, redirect).url);
    assert.match(await page.locator('main').textContent(), /Codex is already connected here since/);
    await inspect(owner, 'consent-again');
  });

  await t.test('everything works in a browser without JavaScript', async t => {
    const back = await callback(t);
    const redirect = `http://localhost:${back.port}/callback`;
    const client = await register(server, 'Claude Code', redirect);
    const plain = await person(t, browser, { javaScriptEnabled: false });
    const asked = authorizeURL(server, client, redirect);
    await plain.page.goto(asked.url);
    await signIn(plain.page, mara);
    assert.ok(!await plain.page.isVisible('input[name=approve]'), 'the approval shows with its workspace only');
    await choose(plain.page, 'Atlas Lab');
    await go(plain.page, 'button[value=connect]');
    const got = await back.next();
    assert.equal(got.state, asked.state);
    await plain.page.waitForURL(`${redirect}**`);
    await plain.page.goto(`${server.url}/connections`);
    await go(plain.page, 'text=Revoke Claude Code…');
    await go(plain.page, 'button:has-text("Revoke Claude Code")');
    await plain.page.waitForURL(`${server.url}/connections#assistants`);
    assert.match(await plain.page.locator('.connections li', { hasText: 'Claude Code' }).textContent(), /Revoked/);
    const tokens = await redeem(server, client, redirect, got.code, asked.verifier);
    assert.deepEqual([tokens.status, tokens.body.error], [400, 'invalid_grant'], 'a revoked connection gets no tokens');
    assert.deepEqual(plain.faults, []);
  });

  await t.test('consent for an app’s own scheme opens the app', async t => {
    const someone = await person(t, browser); // whose window then waits for an app that is not there
    const { page } = someone;
    const redirect = 'cursor://anysphere.cursor-mcp/oauth/callback';
    const asked = authorizeURL(server, await register(server, 'Cursor', redirect), redirect);
    await page.goto(asked.url);
    await signIn(page, mara);
    assert.match(await page.locator('dd.host').first().textContent(), /an app on this device cursor:\/\/anysphere\.cursor-mcp/);
    await choose(page, 'Atlas Lab');
    const opening = page.waitForEvent('requestfailed', request => request.url().startsWith(redirect));
    await page.click('button[value=connect]', { noWaitAfter: true });
    // Chromium hands the address to the system, which has no such app here. Had the
    // policy stopped it, there would be an issue instead of a request.
    assert.equal((await opening).failure().errorText, 'net::ERR_ABORTED');
    const left = someone.navigations.find(n => n.url.startsWith(redirect));
    assert.equal(left?.reason, 'metaTagRefresh');
    const query = new URL(left.url).searchParams;
    assert.equal(query.get('state'), asked.state);
    assert.equal(query.get('iss'), server.url);
    assert.equal(await page.getAttribute('#continue', 'href'), left.url);
    assert.equal(await title(page), 'Cursor is connected to Atlas Lab');
    await inspect(someone, 'taking-you-back');
  });

  await t.test('cancel tells the assistant and connects nothing', async t => {
    const back = await callback(t);
    const redirect = `http://127.0.0.1:${back.port}/callback`;
    const asked = authorizeURL(server, await register(server, 'Gemini', redirect), redirect);
    await page.goto(asked.url);
    await go(page, 'button[value=cancel]');
    const got = await back.next();
    assert.equal(got.error, 'access_denied');
    assert.equal(got.state, asked.state);
    assert.equal(got.iss, server.url);
    assert.equal(got.code, undefined);
    await page.waitForURL(`${redirect}**`);
    assert.deepEqual(owner.faults, []);
    await page.goBack();
    await page.goto(`${server.url}/connections`);
    assert.doesNotMatch(await page.locator('main').textContent(), /Gemini\b.*Outside assistant/);
  });

  await t.test('the start page lists what was connected', async () => {
    await page.goto(`${server.url}/connections`);
    const names = await page.locator('.connections strong').allTextContents();
    assert.deepEqual(names.sort(), ['Claude', 'Claude Code', 'Codex', 'Cursor']);
    for (const host of await page.locator('summary').all()) await host.click();
    await inspect(owner, 'start');
    await go(page, 'text=Revoke Cursor…');
    assert.equal(await title(page), 'Revoke Cursor?');
    await inspect(owner, 'revoke');
    await go(page, 'text=Keep it');
    await page.waitForURL(`${server.url}/connections#assistants`);
  });

  await t.test('a hostile name is only text', async () => {
    const redirect = 'https://assistant.example/callback';
    for (const name of ['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', '{{.}} <b>Claude</b>']) {
      await page.goto(authorizeURL(server, await register(server, name, redirect), redirect).url);
      assert.equal(await title(page), `${name} asks to connect`);
      assert.deepEqual(owner.faults, []);
    }
    await inspect(owner, 'consent-hostile-name');
  });

  await t.test('requests that cannot be decided say why and lead nowhere', async () => {
    const redirect = 'https://assistant.example/callback';
    const client = await register(server, 'Claude', redirect);
    const unknown = await page.goto(authorizeURL(server, 'nobody', redirect).url);
    assert.equal(unknown.status(), 400);
    await inspect(owner, 'unknown-client');
    const elsewhere = await page.goto(authorizeURL(server, client, 'https://evil.example/callback').url);
    assert.equal(elsewhere.status(), 400);
    assert.equal(await page.locator('form, main a, meta[http-equiv]').count(), 0);
    await inspect(owner, 'bad-redirect');
    await page.goto(authorizeURL(server, client, redirect).url);
    const consent = page.url();
    const stranger = await person(t, browser);
    await stranger.page.goto(consent);
    await signIn(stranger.page, mara);
    assert.equal(await title(stranger.page), 'This was begun in another browser');
    await inspect(stranger, 'other-browser');
    await page.goto(`${server.url}/external-assistant-authorize?request=unknown`);
    assert.equal(await title(page), 'This request is too old');
    await inspect(owner, 'too-old');
  });

  await t.test('no page can be put into a frame', async () => {
    const framed = await person(t, browser);
    await framed.page.route('https://frame.example/', route => route.fulfill({ contentType: 'text/html', body: `<!doctype html><title>x</title><iframe src="${server.url}/sign-in"></iframe>` }));
    await framed.page.goto('https://frame.example/');
    const frame = framed.page.frames()[1];
    await assert.rejects(frame.waitForSelector('form', { timeout: 1500 }));
  });
});
