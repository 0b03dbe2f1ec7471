// Requests of outside assistants in Chromium: the inbox, the decision, what two
// owners see of each other's, notifications, and finding things by name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect, person, startChromium, tabTo } from './chromium.mjs';
import { connect, lend, setUp, signInAs } from './house.mjs';
import { pseudo } from './pseudo.mjs';
import { startServer, temporaryFolder } from './server.mjs';

const mara = { name: 'Mara Ruiz', email: 'mara@atlas.example', password: 'a sentence is fine' };
const jonas = { name: 'Jonas Weber', email: 'jonas@atlas.example', password: 'another fine sentence' };
const vera = { name: 'Vera Lind', email: 'vera@atlas.example', password: 'a third fine sentence' };

async function settled(page, title) {
  await page.locator('h1', { hasText: title }).waitFor();
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
}

test('requests, notifications and search', { timeout: 900_000 }, async t => {
  const folder = await temporaryFolder(t);
  const server = await startServer(t, folder);
  const browser = await startChromium(t);
  const owner = await setUp(server, mara, 'Atlas Foods');
  const workspace = (await owner('GET', '/me')).workspaces[0].id;
  await owner('POST', `/workspaces/${workspace}/members`, { ...jonas, role: 'owner' });
  await owner('POST', `/workspaces/${workspace}/members`, { ...vera, role: 'viewer' });
  const project = await owner('POST', `/workspaces/${workspace}/projects`, { name: 'Atlas launch' });
  const other = await owner('POST', `/workspaces/${workspace}/projects`, { name: 'Operations' });
  await owner('POST', `/projects/${project.id}/notes`, { title: 'Launch brief', tabs: [{ title: 'Brief', markdown: 'Text.\n' }] });
  const session = (place, title) => owner('POST', `/projects/${place.id}/agent-sessions`, {
    type: 'agent', title, agents: [{ slug: 'drafter', instructions: 'Draft.', provider: 'rehearsal', tools: [] }],
  });
  const outreach = await session(project, 'Supplier outreach');
  const prices = await session(other, 'Weekly price check');

  const her = await person(t, browser);
  await lend(her.context, server, owner);
  const { page } = her;
  const look = (name, options) => inspect(her, `inbox-${name}`, { app: true, ...options });
  const approvals = `${server.url}/w/${workspace}/approvals`;
  const waiting = n => page.locator('.shell > .side').getByText(`${n} waiting`).waitFor({ state: 'attached' });
  const card = (who, goal) => who.page.locator('[data-handoff]', { hasText: goal });

  await t.test('an empty inbox says what fills it', async () => {
    await page.goto(approvals);
    await settled(page, 'Approvals');
    await page.getByText('All clear').waitFor();
    await look('empty');
    await page.getByRole('button', { name: 'Notifications' }).click();
    await page.getByText('Nothing new').waitFor();
    await look('bell-empty', { grows: false });
    await page.keyboard.press('Escape');
  });

  const claude = await connect(t, browser, server, owner, 'Claude', workspace);
  const codex = await connect(t, browser, server, owner, 'Codex CLI', workspace);
  const connections = (await owner('GET', `/workspaces/${workspace}/connections`)).items;
  for (const connection of connections) {
    for (const [place, where] of [[project, outreach], [other, prices]]) {
      await owner('POST', `/projects/${place.id}/connections`, { connection_id: connection.id });
      await owner('PUT', `/agent-sessions/${where.id}/connections/${connection.id}`, { seat: 'runner' });
    }
  }
  let proposals = 0;
  const propose = async (assistant, where, goal, more = {}) => {
    const made = await assistant.call('propose_session_handoff', {
      session_id: where.id, session_type: 'agent', goal, context_summary: 'Price list is in the note “Price list, October”.', requested_output: 'One draft per supplier.',
      max_rounds: 3, idempotency_key: `proposal-${++proposals}-abcdef`, ...more,
    });
    assert.ok(made.handoff_id ?? made.id, JSON.stringify(made));
    return made.handoff_id ?? made.id;
  };

  await t.test('a request arrives live, with all that is needed to decide', async () => {
    await propose(claude, outreach, 'Draft replies to the 12 suppliers who asked for the October price list');
    const first = card(her, 'Draft replies');
    await first.waitFor();
    await waiting(1);
    await page.getByRole('button', { name: 'Notifications, 3 unread' }).waitFor(); // and two connections
    for (const text of ['Claude', 'Outside assistant', 'connected by Mara Ruiz', 'Up to 3 rounds on your agent runtime']) await first.getByText(text).first().waitFor();
    await propose(codex, outreach, 'Check that every supplier row has a valid VAT number and list the ones that fail');
    await propose(claude, prices, 'Compare the prices of this week with those of last week');
    await waiting(3);
    assert.match(await page.title(), /^\(3\) Approvals · Atlas Foods · osFoundry$/);
    await first.getByText('Context and expected output').click();
    await first.getByText('One draft per supplier.').waitFor();
    await look('waiting');
    await page.getByLabel('Project', { exact: true }).selectOption('Operations');
    assert.equal(await page.locator('[data-handoff]').count(), 1, 'one project’s requests');
    assert.match(page.url(), /project=/);
    await page.getByLabel('Project', { exact: true }).selectOption('All projects');
  });

  const him = await person(t, browser);
  await t.test('two owners who decide at once queue one run', async () => {
    await lend(him.context, server, await signInAs(server, jonas));
    await him.page.goto(approvals);
    await card(him, 'Draft replies').waitFor();
    her.expected.push(/decision/);
    him.expected.push(/decision/);
    // Both press before either hears of the other: the answers are held until both were sent.
    let release;
    const both = new Promise(resolve => { release = resolve; });
    let sent = 0;
    for (const who of [her, him]) {
      await who.page.route('**/decision', async route => { if (++sent === 2) release(); await both; await route.continue(); });
      await card(who, 'Draft replies').getByRole('button', { name: 'Accept and run' }).click();
    }
    const outcomes = await Promise.all([her, him].map(async who => {
      await card(who, 'Draft replies').getByText(/^Accepted by/).waitFor();
      return [await card(who, 'Draft replies').getByText(/^Accepted by/).textContent(), await who.page.locator('.toast').first().textContent()];
    }));
    const winner = outcomes.findIndex(([outcome]) => outcome.startsWith('Accepted by you'));
    const name = ['Mara Ruiz', 'Jonas Weber'][winner];
    assert.match(outcomes[winner][1], /Handoff accepted and run queued/);
    assert.match(outcomes[1 - winner][0], new RegExp(`^Accepted by .*${name}`));
    assert.match(outcomes[1 - winner][1], new RegExp(`${name} already accepted this`));
    assert.equal((await owner('GET', `/agent-sessions/${outreach.id}/tasks`)).items.length, 1);
    for (const who of [her, him]) await who.page.unroute('**/decision');
    await waiting(2);
    await look('decided');
  });

  await t.test('a reason that is typed stays when another decides', async () => {
    await card(her, 'VAT number').getByRole('button', { name: 'Decline' }).click();
    const reason = card(her, 'VAT number').getByLabel('Reason, if you like');
    await reason.fill('Contacts stay inside the workspace.');
    await look('declining');
    await card(him, 'VAT number').getByRole('button', { name: 'Decline' }).click();
    await card(him, 'VAT number').getByRole('button', { name: 'Decline request' }).click();
    await card(her, 'VAT number').getByText('Declined by Jonas Weber').waitFor();
    assert.equal(await reason.inputValue(), 'Contacts stay inside the workspace.');
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'TEXTAREA');
    await card(her, 'VAT number').getByRole('button', { name: 'Close' }).click();
    await waiting(1);
  });

  await t.test('a withdrawn request says so, where its buttons were', async () => {
    const id = await propose(codex, prices, 'Send the list to all suppliers');
    await card(her, 'Send the list').waitFor();
    const gone = await codex.call('cancel_session_handoff', { handoff_id: id });
    assert.ok(!gone.code, JSON.stringify(gone));
    await card(her, 'Send the list').getByText('Withdrawn by Codex CLI').waitFor();
    assert.equal(await card(her, 'Send the list').getByRole('button').count(), 0);
  });

  await t.test('what changed since it was shown is not approved', async () => {
    const { version } = await owner('GET', `/agent-sessions/${prices.id}`);
    const now = await owner('PATCH', `/agent-sessions/${prices.id}`, { title: 'Daily price check', expected_version: version });
    assert.equal(now.title, 'Daily price check');
    // The page hears of it; this one pressed before that.
    await page.route('**/decision', async route => {
      const body = { ...route.request().postDataJSON(), digest: 'of what was there before' };
      await route.continue({ postData: JSON.stringify(body) });
    });
    await card(her, 'Compare the prices').getByRole('button', { name: 'Accept and run' }).click();
    await card(her, 'Compare the prices').getByRole('alert').getByText('This request changed').waitFor();
    await look('changed');
    await page.unroute('**/decision');
  });

  await t.test('the keyboard alone decides, and A is asked for twice', async () => {
    await page.goto(approvals);
    await card(her, 'Compare the prices').waitFor();
    await tabTo(page, '[data-handoff]');
    await page.keyboard.press('o');
    await card(her, 'Compare the prices').getByText('One draft per supplier.').waitFor();
    await page.keyboard.press('a');
    await page.getByText('Press A again to accept').waitFor();
    assert.equal((await owner('GET', `/agent-sessions/${prices.id}/tasks`)).items.length, 0);
    await page.keyboard.press('a');
    await card(her, 'Compare the prices').getByText('Accepted by you').waitFor();
    assert.equal((await owner('GET', `/agent-sessions/${prices.id}/tasks`)).items.length, 1);
    await page.goto(approvals);
    await page.getByRole('heading', { name: 'Earlier' }).waitFor();
    await look('earlier');
  });

  await t.test('the bell tells what happened, once for each', async () => {
    await page.goto(`${server.url}/w/${workspace}`);
    await settled(page, 'Mara');
    for (const goal of ['Translate the brief', 'Translate the list']) await propose(claude, outreach, goal);
    await page.getByText('2 requests wait for you.').waitFor();
    await look('home');
    await page.getByRole('button', { name: /^Notifications, \d+ unread$/ }).click();
    await page.getByText('Claude asked for 2 runs').waitFor();
    await look('bell', { grows: false });
    await page.getByRole('button', { name: 'Mark all read' }).click();
    await page.getByRole('button', { name: 'Mark all read' }).waitFor({ state: 'detached' });
    assert.equal((await owner('GET', '/notices?unread=true')).items.length, 0);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Notifications', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Review' }).click();
    await settled(page, 'Approvals');
  });

  await t.test('who may not decide sees no inbox', async () => {
    const them = await person(t, browser);
    await lend(them.context, server, await signInAs(server, vera));
    await them.page.goto(`${server.url}/w/${workspace}`);
    await settled(them.page, 'Vera');
    assert.equal(await them.page.getByRole('link', { name: 'Approvals' }).count(), 0);
    await them.page.goto(approvals);
    await them.page.getByText('All clear').waitFor();
    await inspect(them, 'inbox-viewer', { app: true });
  });

  await t.test('things are found by name', async () => {
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('outreach');
    await page.getByRole('menuitem', { name: /Supplier outreach/ }).first().waitFor();
    await look('palette', { grows: false });
    await page.keyboard.press('Control+a');
    await page.keyboard.type('@vera');
    await page.getByRole('menuitem', { name: /Vera Lind/ }).waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('>appr');
    await page.getByRole('menuitem', { name: 'Approvals' }).waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('qqq');
    await page.getByText('No results for “qqq”').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.goto(`${server.url}/search?q=brief`);
    await page.getByRole('main').getByRole('link', { name: 'Launch brief' }).first().waitFor();
    await page.getByText(/^\d+ results?$/).waitFor();
    await look('search');
    await page.getByLabel('Search this workspace').fill('');
    await look('search-empty');
  });

  await t.test('loading and failure say so', async () => {
    let release;
    const held = new Promise(resolve => { release = resolve; });
    await page.route('**/api/v1/handoffs*', async route => { await held; await route.continue(); });
    await page.goto(approvals);
    await page.locator('.bars').first().waitFor();
    await look('loading');
    release();
    await card(her, 'Translate the brief').waitFor();
    await page.unroute('**/api/v1/handoffs*');
    her.expected.push(/\/handoffs/);
    await page.route('**/api/v1/handoffs*', route => route.fulfill({ status: 500, contentType: 'application/json', body: '{"error":{"code":"internal","message":"The call failed."}}' }));
    await page.goto(approvals);
    await page.getByRole('main').getByRole('alert').waitFor();
    await look('failed');
    await page.unroute('**/api/v1/handoffs*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await card(her, 'Translate the brief').waitFor();
  });

  await t.test('every text comes from the catalogue, and has room to grow', async () => {
    await pseudo(page, async () => {
      for (const [name, path] of [['approvals', `/w/${workspace}/approvals`], ['home', `/w/${workspace}`], ['search', '/search?q=brief']]) {
        await page.goto(server.url + path);
        await settled(page, /./);
        await pseudo.check(page, path, ['Atlas', 'Mara', 'Jonas', 'Vera', 'Claude', 'Codex', 'Launch', 'Supplier', 'Daily', 'Operations', 'osFoundry', 'drafter', 'brief']);
        await look(`pseudo-${name}`);
      }
      await page.locator('.bell button').click();
      await page.locator('.notices .list').waitFor();
      // React Aria says "Dismiss" in its own catalogue, which knows no pseudo-language.
      await pseudo.check(page, 'the bell', ['Dismiss', 'Atlas', 'Mara', 'Claude', 'Supplier', 'Daily', 'Operations', 'osFoundry', 'brief', 'Launch']);
      await look('pseudo-bell', { grows: false });
    });
  });
});
