// The story by keyboard alone: set up, connect with consent, add to a project,
// give a seat, accept a handoff, stop its run, revoke. No pointer is used.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { person, startChromium, tabTo } from './chromium.mjs';
import { beginHost } from './host.mjs';
import { startModel } from './model.mjs';
import { startServer, temporaryFolder } from './server.mjs';

const mara = { name: 'Mara Ruiz', email: 'mara@atlas.example', password: 'a sentence is fine' };

test('the keyboard alone completes the story', { timeout: 240_000 }, async t => {
  const model = await startModel(t);
  process.env.OSFOUNDRY_PROVIDER_HOSTS = model.host;
  const server = await startServer(t, await temporaryFolder(t));
  const browser = await startChromium(t);
  const her = await person(t, browser);
  const { page } = her;
  const press = key => page.keyboard.press(key);
  const type = text => page.keyboard.type(text);

  /** Presses Tab until the focus is on what has this name, which it then shows. */
  const reach = async (role, name) => {
    const wanted = page.getByRole(role, { name, exact: typeof name === 'string' });
    await wanted.first().waitFor();
    await wanted.evaluateAll(all => all.forEach(element => element.setAttribute('data-wanted', '')));
    await tabTo(page, '[data-wanted]');
    await page.evaluate(() => document.querySelectorAll('[data-wanted]').forEach(element => element.removeAttribute('data-wanted')));
  };
  /** The palette leads anywhere. */
  const jump = async (to, title) => {
    await press('Control+k');
    await page.getByRole('dialog').waitFor();
    await type(to);
    await page.locator('[role=menuitem][data-focused]', { hasText: to }).first().waitFor();
    await press('Enter');
    await page.locator('h1', { hasText: title }).waitFor();
  };
  let project, session, claude;

  await t.test('setup, and a project', async () => {
    await page.goto(server.setup);
    for (const [field, text] of Object.entries({ ...mara, workspace: 'Atlas Foods' })) {
      await tabTo(page, `input[name=${field}]`);
      await type(text);
    }
    await press('Enter');
    await page.waitForURL(/\/w\//);
    await page.locator('h1', { hasText: 'Mara' }).waitFor();
    await reach('button', 'New project');
    await press('Enter');
    await page.getByRole('dialog').waitFor();
    await type('Atlas launch'); // the field has the focus
    await press('Enter');
    await page.locator('h1', { hasText: 'Atlas launch' }).waitFor();
    project = new URL(page.url()).pathname.split('/')[2];
  });

  await t.test('consent', async () => {
    const host = await beginHost(t, server, 'Claude');
    const connected = host.connected();
    await page.goto(host.url);
    await tabTo(page, 'input[name=workspace_id]');
    await press('Space');
    await tabTo(page, 'input[name=approve]');
    await press('Space');
    await tabTo(page, 'button[value=connect]');
    await press('Enter');
    claude = await connected;
    await page.getByRole('heading', { name: 'Back at the assistant' }).waitFor();
    await page.goto(`${server.url}/p/${project}`);
  });

  await t.test('into the project, and a seat in a session', async () => {
    await reach('link', /^Access/);
    await press('Enter');
    await page.locator('h1', { hasText: 'Access to Atlas launch' }).waitFor();
    await reach('button', 'Add to project: Claude');
    await press('Enter');
    await page.getByText('Claude added to Atlas launch').waitFor();
    // A session works on a model of its own, which is no part of the story.
    const put = await her.context.request.put(`${server.url}/api/v1/workspaces/${await workspaceOf(her, server)}/providers/desk`, { data: { kind: 'openai', base_url: model.url, model: 'plain' } });
    assert.ok(put.ok(), await put.text());
    const made = await her.context.request.post(`${server.url}/api/v1/projects/${project}/agent-sessions`, {
      data: { type: 'agent', title: 'Supplier outreach', agents: [{ slug: 'drafter', instructions: 'Draft.', provider: 'desk', tools: [] }] },
    });
    assert.equal(made.status(), 201, await made.text());
    session = (await made.json()).id;
    await jump('Supplier outreach', 'Supplier outreach');
    await press('5');
    await page.getByRole('tab', { name: 'Connected', selected: true }).waitFor();
    await reach('radio', 'None');
    await press('ArrowRight');
    await page.getByText(/Claude is now .*Observer in Supplier outreach/).waitFor();
    await press('ArrowRight');
    await page.getByText(/Claude is now .*Contributor in Supplier outreach/).waitFor();
  });

  await t.test('a handoff is accepted, and its run stopped', async () => {
    const proposed = await claude.call('propose_session_handoff', {
      session_type: 'agent', session_id: session, goal: 'Draft replies', context_summary: 'The list is in the note.',
      requested_output: 'One draft per supplier.', max_rounds: 3, idempotency_key: 'keyboard-handoff-1',
    });
    assert.equal(proposed.status, 'pending', JSON.stringify(proposed));
    await page.evaluate(() => document.activeElement.blur());
    await press('g');
    await press('a');
    await page.locator('h1', { hasText: 'Approvals' }).waitFor();
    const card = page.locator('[data-handoff]');
    await card.waitFor();
    await tabTo(page, '[data-handoff]');
    await press('o');
    await card.getByText('One draft per supplier.').waitFor();
    await reach('button', 'Accept and run');
    await press('Enter');
    await card.getByText('Accepted by you').waitFor();
    assert.ok(await card.evaluate(element => element.contains(document.activeElement)), 'the focus stays on the request');
    const turn = await model.turn();
    turn.say('Reading.');
    await reach('link', /View/);
    await press('Enter');
    await page.getByText('Reading.').waitFor();
    await reach('button', /^Stop task/);
    await press('Enter');
    const asked = page.getByRole('alertdialog');
    await asked.waitFor();
    await reach('button', 'Stop task');
    await press('Enter');
    await asked.waitFor({ state: 'detached' });
    await page.getByText('Stopped', { exact: true }).first().waitFor();
  });

  await t.test('revoke', async () => {
    await press('g');
    await press('c');
    await page.locator('h1', { hasText: 'Connected assistants' }).waitFor();
    await reach('link', 'Claude');
    await press('Enter');
    await page.locator('h1', { hasText: 'Claude' }).waitFor();
    await reach('button', 'Revoke connection…');
    await press('Enter');
    await page.getByRole('alertdialog').waitFor();
    await press('Escape'); // the focus goes back to where it came from
    await page.getByRole('alertdialog').waitFor({ state: 'detached' });
    await page.waitForFunction(() => document.activeElement?.textContent?.includes('Revoke connection'));
    await press('Enter');
    await page.getByRole('alertdialog').waitFor();
    await reach('button', 'Revoke');
    await press('Enter');
    await page.getByText('Claude revoked. It can no longer reach Atlas Foods.').waitFor();
    const after = await claude.call('list_sessions', {});
    assert.equal(after.refused, true, JSON.stringify(after));
    assert.deepEqual(her.faults, []);
  });
});

async function workspaceOf({ context }, server) {
  const me = await (await context.request.get(`${server.url}/api/v1/me`)).json();
  return me.workspaces[0].id;
}
