// The whole story, by hand in two browsers and by a host beside them: set up,
// connect, consent, add to a project, write a note together, ask for work, decide,
// watch it, take a seat away, revoke.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect, person, startChromium } from './chromium.mjs';
import { beginHost } from './host.mjs';
import { startModel } from './model.mjs';
import { startServer, temporaryFolder } from './server.mjs';

const mara = { name: 'Mara Ruiz', email: 'mara@atlas.example', password: 'a sentence is fine' };
const jonas = { name: 'Jonas Weber', email: 'jonas@atlas.example', password: 'another fine sentence' };

const goal = 'Draft replies to the 12 suppliers who asked for the October price list';

async function settled(page, title) {
  await page.locator('h1', { hasText: title }).waitFor();
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
}

test('the whole story', { timeout: 300_000 }, async t => {
  const model = await startModel(t);
  process.env.OSFOUNDRY_PROVIDER_HOSTS = model.host;
  const server = await startServer(t, await temporaryFolder(t));
  const browser = await startChromium(t);
  const her = await person(t, browser);
  const { page } = her;
  const main = page.getByRole('main');
  const look = (name, options) => inspect(her, `story-${name}`, { app: true, ...options });
  let workspace, project, session, note, claude;

  await t.test('she sets up the server and makes a project', async () => {
    await page.goto(server.setup);
    for (const field of ['name', 'email', 'password']) await page.fill(`input[name=${field}]`, mara[field]);
    await page.fill('input[name=workspace]', 'Atlas Foods');
    await page.click('text=Create workspace');
    await page.waitForURL(/\/w\//);
    workspace = new URL(page.url()).pathname.split('/')[2];
    await settled(page, 'Mara');
    await main.getByRole('button', { name: 'New project' }).first().click();
    await page.getByLabel('Name').fill('Atlas launch');
    await page.getByRole('button', { name: 'Create project' }).click();
    await settled(page, 'Atlas launch');
    project = new URL(page.url()).pathname.split('/')[2];
  });

  await t.test('a host connects with her consent, which shows live, and goes into the project', async () => {
    await page.goto(`${server.url}/w/${workspace}/connect`);
    await page.getByText('Waiting for a connection…').waitFor();
    const host = await beginHost(t, server, 'Claude');
    const consent = await her.context.newPage();
    await consent.goto(host.url);
    await consent.locator('h1', { hasText: 'Claude asks to connect' }).waitFor();
    const connected = host.connected();
    await consent.locator('input[name=workspace_id]').check();
    await consent.locator('input[name=approve]').check();
    await consent.click('button[value=connect]');
    claude = await connected;
    await consent.close();
    assert.ok(claude.tools.includes('propose_session_handoff'), `the host sees ${claude.tools}`);
    await page.getByRole('heading', { name: 'Claude connected to Atlas Foods' }).waitFor();
    await main.getByRole('button', { name: 'Add to project' }).click();
    await page.getByText('Claude added to Atlas launch').waitFor();
  });

  await t.test('both write the note that she has open, and nothing is lost', async () => {
    await page.goto(`${server.url}/p/${project}`);
    await settled(page, 'Atlas launch');
    await main.getByRole('button', { name: 'New note' }).first().click();
    await page.getByLabel('Title').fill('Launch brief');
    await page.getByRole('button', { name: 'Create note' }).click();
    await page.locator('.cm-content').click();
    await page.keyboard.type('The list goes to 214 suppliers.\n');
    await page.locator('[data-saving=saved]').waitFor();
    note = new URL(page.url()).pathname.split('/')[4];

    // It writes while she only looks: her editor follows.
    const read = async () => {
      const whole = await claude.call('read_note', { note_id: note });
      const [tab] = whole.tabs;
      return { tab: tab.tab_id ?? tab.id, ...await claude.call('read_note_tab', { note_id: note, tab_id: tab.tab_id ?? tab.id }) };
    };
    let now = await read();
    const edit = (find, replace, expected, key) => claude.call('edit_note_tab', { note_id: note, tab_id: now.tab, edits: [{ find, replace }], expected_version: expected, idempotency_key: key });
    const first = await edit('214', '216', now.version, 'story-edit-1');
    assert.equal(first.refused, false, JSON.stringify(first));
    await page.locator('.cm-content', { hasText: '216 suppliers' }).waitFor();

    // It writes the same line while she writes: hers waits at the door until its edit is in.
    her.expected.push(/\/tabs\//);
    await page.route('**/api/v1/notes/*/tabs/*', async route => {
      if (route.request().method() === 'PATCH' && !now.raced) {
        now = { ...await read(), raced: true };
        const second = await edit('216', '219', now.version, 'story-edit-2');
        assert.equal(second.refused, false, JSON.stringify(second));
      }
      await route.continue();
    });
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('Today: ');
    await page.locator('[data-saving=conflict]').waitFor();
    await page.getByText('Claude').first().waitFor();
    await look('conflict');
    await page.getByRole('button', { name: 'See both' }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Merge' }).click();
    await page.locator('[data-saving=saved]').waitFor();
    await page.unroute('**/api/v1/notes/*/tabs/*');
    const { markdown, text } = await read();
    assert.match(markdown ?? text, /Today: /, 'her words');
    assert.match(markdown ?? text, /219/, 'its words');
  });

  await t.test('she makes a session with an agent, and gives the assistant a seat', async () => {
    await page.goto(`${server.url}/w/${workspace}/runtime`);
    await settled(page, /./);
    const made = await her.context.request.put(`${server.url}/api/v1/workspaces/${workspace}/providers/desk`, { data: { kind: 'openai', base_url: model.url, model: 'plain' } });
    assert.ok(made.ok(), await made.text());
    await page.goto(`${server.url}/p/${project}/sessions/new`);
    await settled(page, 'New session');
    await page.getByLabel('Title').fill('Supplier outreach');
    await page.getByLabel('Provider').selectOption('desk');
    await page.getByLabel('Instructions').fill('Draft replies.');
    await page.getByRole('button', { name: 'Create session' }).click();
    await settled(page, 'Supplier outreach');
    session = new URL(page.url()).pathname.split('/')[2];
    await page.getByRole('tab', { name: 'Connected' }).click();
    await page.getByRole('radiogroup', { name: 'Seat of Claude' }).getByText('Contributor').click();
    await page.getByText(/Claude is now .*Contributor in Supplier outreach/).waitFor();
    await look('seat');
  });

  const him = await person(t, browser);
  await t.test('a second owner signs in elsewhere', async () => {
    const added = await her.context.request.post(`${server.url}/api/v1/workspaces/${workspace}/members`, { data: { ...jonas, role: 'owner' } });
    assert.equal(added.status(), 201, await added.text());
    await him.page.goto(server.url);
    await him.page.fill('input[name=email]', jonas.email);
    await him.page.fill('input[name=password]', jonas.password);
    await him.page.click('button:has-text("Sign in")');
    await settled(him.page, 'Jonas');
  });

  const card = who => who.page.locator('[data-handoff]', { hasText: goal });
  const tabs = [];
  await t.test('eight tabs of one browser stay responsive over plain HTTP', async () => {
    for (let i = 0; i < 7; i++) {
      const tab = await her.context.newPage();
      await tab.goto(`${server.url}/w/${workspace}/approvals`);
      await settled(tab, 'Approvals');
      tabs.push({ page: tab });
    }
    // A stream for each tab would have used up the six connections that a browser has for a host.
    const took = await page.evaluate(async () => {
      const begun = performance.now();
      await (await fetch('/api/v1/me')).json();
      return performance.now() - begun;
    });
    assert.ok(took < 2_000, `an answer took ${took} ms`);
  });

  await t.test('a handoff arrives live in both browsers; one accepts and the other sees who', async () => {
    await page.getByRole('tab', { name: 'Handoffs' }).click();
    await page.getByText('No requests waiting').waitFor();
    await him.page.goto(`${server.url}/w/${workspace}/approvals`);
    await settled(him.page, 'Approvals');
    const proposal = {
      session_type: 'agent', session_id: session, goal, context_summary: 'The list is in the note “Launch brief”.',
      requested_output: 'One draft per supplier.', max_rounds: 3, idempotency_key: 'story-handoff-1',
    };
    const proposed = await claude.call('propose_session_handoff', proposal);
    assert.equal(proposed.status, 'pending', JSON.stringify(proposed));
    await Promise.all([her, him, ...tabs].map(who => card(who).waitFor()));
    await card(her).getByText('Up to 3 rounds on your agent runtime').waitFor();
    assert.match(await page.title(), /^Handoffs \(1\) · Supplier outreach/);
    await page.locator('.shell > .side').getByText('1 waiting').waitFor({ state: 'attached' });
    await look('handoff');
    await card(her).getByText('Context and expected output').click();
    await card(her).getByText('One draft per supplier.').waitFor();
    await card(her).getByRole('button', { name: 'Accept and run' }).click();
    await page.locator('.toast', { hasText: 'Handoff accepted and run queued' }).waitFor();
    await card(him).getByText('Accepted by Mara Ruiz').waitFor();
    await Promise.all(tabs.map(tab => card(tab).getByText('Accepted by you').waitFor()));
    await Promise.all(tabs.map(tab => tab.page.close()));
    await page.bringToFront();
    assert.equal(await card(him).getByRole('button').count(), 0, 'nothing is left to decide');
  });

  await t.test('its rounds stream, and the result shows in both browsers and to the host', async () => {
    const first = await model.turn();
    for (const who of [her, him]) await card(who).getByRole('link', { name: /View/ }).click();
    for (const who of [her, him]) await who.page.getByText(/^Round [01] of 3$/).first().waitFor();
    const heard = (text, round) => Promise.all([her, him].map(who => who.page.getByRole('region', { name: `What the agent says in round ${round}` }).getByText(text).waitFor()));
    first.say('Reading the brief');
    await heard('Reading the brief', 1);
    first.say(' and the list.');
    await heard('Reading the brief and the list.', 1); // before the round is over
    await page.getByRole('button', { name: /^Stop task/ }).waitFor();
    await look('round');
    first.call('list_project_resources', { project_id: project });
    const second = await model.turn();
    second.say('Writing.');
    await heard('Writing.', 2);
    await page.getByText(/^Round [12] of 3$/).first().waitFor();
    second.say(' Twelve drafts are ready.');
    second.end();
    for (const who of [her, him]) await who.page.getByText('Twelve drafts are ready.').first().waitFor();
    await look('result');
    const handoffs = await claude.call('list_session_handoffs', { session_type: 'agent', session_id: session });
    assert.equal(handoffs.items[0].status, 'accepted', JSON.stringify(handoffs));
    const result = await claude.call('read_session_task_result', { session_type: 'agent', session_id: session, task_id: handoffs.items[0].task_id });
    assert.match(JSON.stringify(result), /Twelve drafts are ready/);
  });

  await t.test('its seat is taken away; the next call is refused, and Activity says why', async () => {
    await page.getByRole('tab', { name: 'Connected' }).click();
    await page.getByRole('radiogroup', { name: 'Seat of Claude' }).getByText('None').click();
    await page.getByText('Claude has no seat in Supplier outreach any more').waitFor();
    const refused = await claude.call('read_session_state', { session_type: 'agent', session_id: session });
    assert.deepEqual([refused.refused, refused.code], [true, 'seat_required'], JSON.stringify(refused));
    await page.goto(`${server.url}/w/${workspace}/activity?decision=denied`);
    await page.getByText('It needs a seat in this session').first().waitFor();
    await look('refused');
  });

  await t.test('she revokes it, and it reaches nothing', async () => {
    await page.goto(`${server.url}/w/${workspace}/assistants`);
    await main.getByRole('link', { name: 'Claude', exact: true }).click();
    await settled(page, 'Claude');
    await page.getByRole('button', { name: 'Revoke connection…' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Claude revoked. It can no longer reach Atlas Foods.').waitFor();
    const after = await claude.call('read_note', { note_id: note });
    assert.equal(after.refused, true, JSON.stringify(after));
    assert.deepEqual(him.faults, []);
  });
});
