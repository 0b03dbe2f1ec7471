// Every screen as it is while it loads, with nothing in it, when it could not be
// read, and when it may not be: in both themes, wide and narrow. The server's
// answers are put in their place on the way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { glance, person, startChromium } from './chromium.mjs';
import { connect, lend, setUp } from './house.mjs';
import { startServer, temporaryFolder } from './server.mjs';

const mara = { name: 'Mara Ruiz', email: 'mara@atlas.example', password: 'a sentence is fine' };

const json = (status, body) => ({ status, contentType: 'application/json', body: JSON.stringify(body) });
const refusal = (status, code, message) => json(status, { error: { code, message } });

/** What each state answers, and what then has to be in the main part of the page. */
const states = {
  loading: { shows: page => page.locator('main .bars').first() },
  empty: { answer: json(200, { items: [] }), shows: page => page.locator('main .empty').first() },
  failed: { answer: refusal(400, 'bad_request', 'The call failed.'), // as 500 looks, but not asked for three times
     shows: page => page.getByRole('main').getByRole('alert').getByRole('button', { name: 'Try again' }).first() },
  denied: { answer: refusal(403, 'forbidden', 'Your role does not allow this.'), shows: page => page.locator('main .empty', { hasText: 'You can’t see this.' }).first() },
};

test('every screen has all its states', { timeout: 900_000 }, async t => {
  const server = await startServer(t, await temporaryFolder(t));
  const browser = await startChromium(t);
  const owner = await setUp(server, mara, 'Atlas Foods');
  const workspace = (await owner('GET', '/me')).workspaces[0].id;
  const project = (await owner('POST', `/workspaces/${workspace}/projects`, { name: 'Atlas launch' })).id;
  const note = await owner('POST', `/projects/${project}/notes`, { title: 'Launch brief', tabs: [{ title: 'Brief', markdown: 'Text.\n' }] });
  const session = (await owner('POST', `/projects/${project}/agent-sessions`, {
    type: 'agent', title: 'Supplier outreach', agents: [{ slug: 'drafter', instructions: 'Draft.', provider: 'rehearsal', tools: [] }],
  })).id;
  await connect(t, browser, server, owner, 'Claude', workspace);
  const connection = (await owner('GET', `/workspaces/${workspace}/connections`)).items[0].id;
  const her = await person(t, browser);
  await lend(her.context, server, owner);
  const { page } = her;
  her.expected.push(/\/api\/v1\//);

  const w = `/w/${workspace}`, p = `/p/${project}`, s = `/s/${session}`;
  const thing = ['loading', 'failed', 'denied']; // a single thing is never empty
  const list = ['loading', 'empty', 'failed', 'denied'];
  // Name, address, what it reads (of the API), and its states.
  const screens = [
    ['home', w, `/workspaces/${workspace}/projects`, list],
    ['approvals', `${w}/approvals`, '/handoffs', list],
    ['activity', `${w}/activity`, `/workspaces/${workspace}/audit`, list],
    ['assistants', `${w}/assistants`, `/workspaces/${workspace}/connections`, list],
    ['assistant', `${w}/assistants/${connection}`, `/connections/${connection}`, thing],
    ['people', `${w}/people`, `/workspaces/${workspace}/members`, ['loading', 'failed', 'denied']], // who looks is there
    ['runtime', `${w}/runtime`, `/workspaces/${workspace}/providers`, list],
    ['project', p, `/projects/${project}`, thing],
    ['notes', p, `/projects/${project}/notes`, list],
    ['sessions', p, `/projects/${project}/agent-sessions`, list],
    ['access', `${p}/access`, `/projects/${project}/connections`, list],
    ['access-people', `${p}/access/people`, `/projects/${project}/members`, list],
    ['access-log', `${p}/access/log`, `/projects/${project}/audit`, list],
    ['note', `${p}/notes/${note.id}`, `/notes/${note.id}`, thing],
    ['session', s, `/agent-sessions/${session}`, thing],
    ['tasks', `${s}/tasks`, `/agent-sessions/${session}/tasks`, list],
    ['handoffs', `${s}/handoffs`, `/agent-sessions/${session}/external-handoffs`, list],
    ['mail', `${s}/mail`, `/agent-sessions/${session}/mail`, list],
    ['seats', `${s}/connected`, `/projects/${project}/connections`, list],
    ['tokens', '/settings/tokens', '/personal-tokens', list],
  ];
  let examined = 0;
  for (const [name, path, reads, has] of screens) {
    for (const state of has) {
      await t.test(`${name}: ${state}`, async () => {
        const { answer, shows } = states[state];
        const held = [];
        const stands = url => url.pathname === `/api/v1${reads}`;
        await page.route(stands, route => answer ? route.fulfill(answer) : held.push(route));
        await page.goto(server.url + path);
        await shows(page).waitFor();
        await page.locator('h1').waitFor();
        if (has === thing && state === 'denied') assert.doesNotMatch(await page.locator('main').innerText(), /Supplier outreach|Launch brief/, 'it leaks no name');
        await glance(her, `state-${name}-${state}`, ++examined % 2 === 0);
        await page.unroute(stands);
        await Promise.all(held.map(route => route.abort().catch(() => {}))); // the page may be gone
      });
    }
  }

  for (const language of ['de', 'hi']) {
    await t.test(`nothing is cut in ${language}`, async () => {
      await page.goto(server.url);
      await page.evaluate(chosen => localStorage.setItem('osfoundry.language', chosen), language);
      for (const [name, path] of [['home', w], ['access', `${p}/access`], ['seats', `${s}/connected`], ['settings', '/settings/appearance']]) {
        await page.goto(server.url + path);
        await page.locator(`html[lang^=${language}] h1`).waitFor();
        await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
        await glance(her, `${language}-${name}`, true);
        assert.deepEqual(await cut(page), [], `${name} in ${language}, 390 px`);
      }
    });
  }
});

/** Buttons, tabs and badges whose text does not fit into them. */
const cut = page => page.evaluate(() => [...document.querySelectorAll('button, a.button, [role=tab], .badge, label')]
  .filter(element => element.checkVisibility() && !element.closest('.sr, .crumbs, .bottom, .side, .icon') && (element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 2) && getComputedStyle(element).display !== 'inline')
  .map(element => element.outerHTML.slice(0, 160)));
