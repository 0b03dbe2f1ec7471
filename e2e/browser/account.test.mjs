// What people change about themselves, their workspace and who opens a note, and
// how they find words in notes, in Chromium against the real server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect, person, startChromium } from './chromium.mjs';
import { lend, setUp, signInAs } from './house.mjs';
import { startServer, temporaryFolder } from './server.mjs';

const mara = { name: 'Mara Ruiz', email: 'mara@atlas.example', password: 'a sentence is fine' };
const jonas = { name: 'Jonas Weber', email: 'jonas@atlas.example', password: 'another fine sentence' };
const chosen = 'a new and longer sentence';

async function settled(page, title) {
  await page.locator('h1', { hasText: title }).waitFor();
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
}

test('account, workspace, notes and search', { timeout: 900_000 }, async t => {
  const server = await startServer(t, await temporaryFolder(t));
  const browser = await startChromium(t);
  const owner = await setUp(server, mara, 'Atlas Foods');
  const workspace = (await owner('GET', '/me')).workspaces[0].id;
  await owner('POST', `/workspaces/${workspace}/members`, { ...jonas, role: 'editor' });
  const project = await owner('POST', `/workspaces/${workspace}/projects`, { name: 'Atlas launch' });
  const other = await owner('POST', `/workspaces/${workspace}/projects`, { name: 'Operations' });
  const note = await owner('POST', `/projects/${project.id}/notes`, {
    title: 'Launch brief',
    tabs: [{ title: 'Brief', markdown: '# Aims\n\nThe saffron harvest comes first.\n\n## Dates\n\nOctober.\n\n## **People**\n\nMara.\n' }],
  });
  const her = await person(t, browser);
  await lend(her.context, server, owner);
  const { page } = her;
  const look = (name, options) => inspect(her, `account-${name}`, { app: true, ...options });
  const open = async (path, title) => {
    await page.goto(server.url + path);
    await settled(page, title);
  };
  const dialog = page.getByRole('dialog');
  const menu = async (what, item) => {
    await page.getByRole('button', { name: `More actions for ${what}` }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };

  await t.test('a person changes their name', async () => {
    await open('/settings', 'Settings');
    await page.getByText('This browser').waitFor();
    await look('profile');
    await page.getByRole('button', { name: 'Change name' }).click();
    her.expected.push(/\/api\/v1\/me/);
    await dialog.getByLabel('Name').fill(' ');
    await dialog.getByRole('button', { name: 'Change name' }).click();
    await dialog.getByRole('alert').waitFor();
    await look('name-refused');
    await dialog.getByLabel('Name').fill('Mara Ruiz-Díaz');
    await dialog.getByRole('button', { name: 'Change name' }).click();
    await page.getByText('Name changed').waitFor();
    await page.getByRole('main').getByText('Mara Ruiz-Díaz').waitFor();
    assert.equal((await owner('GET', '/me')).name, 'Mara Ruiz-Díaz');
  });

  await t.test('a new password signs out the other browsers', async () => {
    const elsewhere = await signInAs(server, mara);
    await page.getByRole('button', { name: 'Change password' }).click();
    await look('password');
    await dialog.getByLabel('Current password').fill('not the password');
    await dialog.getByLabel('New password').fill(chosen);
    await dialog.getByRole('button', { name: 'Change password' }).click();
    await dialog.getByText('is not your password').waitFor();
    assert.equal(await dialog.getByLabel('New password').inputValue(), chosen, 'the text was lost');
    await dialog.getByLabel('Current password').fill(mara.password);
    await dialog.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Password changed').waitFor();
    await assert.rejects(elsewhere('GET', '/me'), /401/);
    assert.ok(await signInAs(server, { ...mara, password: chosen }));
    await page.reload();
    await settled(page, 'Settings');
    await page.getByRole('button', { name: /^Sign out / }).last().click();
    await page.getByText(/ signed out$/).waitFor();
  });

  await t.test('an owner renames the workspace', async () => {
    await open(`/w/${workspace}`, 'Mara');
    await menu('Atlas Foods', 'Rename workspace');
    await dialog.getByLabel('Name').fill('Atlas Kitchens');
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await page.getByText('The workspace is Atlas Kitchens now').waitFor();
    await page.locator('.side').getByText('Atlas Kitchens').first().waitFor();
  });

  await t.test('words inside notes are found, by page and palette', async () => {
    await open('/search?q=saffron', 'Search');
    await page.getByRole('main').getByRole('link', { name: 'Launch brief' }).waitFor();
    await page.getByText('The saffron harvest comes first.').waitFor();
    await look('search');
    await page.getByLabel('Search this workspace').fill('cardamom');
    await page.getByText('No note holds these words').waitFor();
    await page.keyboard.press('Control+k');
    await dialog.getByRole('searchbox').fill('harvest');
    await dialog.getByRole('menuitem', { name: 'Launch brief' }).waitFor();
    await look('palette', { grows: false });
    await dialog.getByRole('menuitem', { name: 'Launch brief' }).click();
    await page.waitForURL(`**/p/${project.id}/notes/${note.id}/*`);
    await settled(page, 'Launch brief');
  });

  await t.test('the outline leads to a heading', async () => {
    await open(`/p/${project.id}/notes/${note.id}`, 'Launch brief');
    await page.getByText('Read', { exact: true }).click();
    await page.getByText('Outline').click();
    await look('outline');
    await page.getByRole('button', { name: 'People' }).click();
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'People');
  });

  await t.test('a note is shared with listed people, and not over somebody else', async () => {
    const path = `/p/${project.id}/notes/${note.id}`;
    await open(path, 'Launch brief');
    await menu('Launch brief', 'Share note…');
    await dialog.getByLabel('Who can open it').selectOption('listed');
    await dialog.getByLabel('Jonas Weber').selectOption('view');
    await look('share');
    await dialog.getByRole('button', { name: 'Save access' }).click();
    await page.getByText('Access to Launch brief changed').waitFor();
    const listed = (await owner('GET', `/notes/${note.id}/acl`)).users;
    assert.deepEqual(listed.map(({ name, right }) => `${name} ${right}`).toSorted(), ['Jonas Weber view', 'Mara Ruiz-Díaz edit']);
    await page.getByText('Listed people only').first().waitFor();

    await menu('Launch brief', 'Share note…');
    await dialog.getByLabel('Jonas Weber').waitFor();
    await owner('PUT', `/notes/${note.id}/acl`, { users: listed.filter(({ right }) => right === 'edit').map(({ id, right }) => ({ id, right })) });
    await dialog.getByLabel('Jonas Weber').selectOption('edit');
    await dialog.getByRole('button', { name: 'Save access' }).click();
    await dialog.getByText('Somebody else changed who can open this note').waitFor();
    await page.keyboard.press('Escape');
    await menu('Launch brief', 'Share note…');
    await dialog.getByLabel('Who can open it').selectOption('everyone');
    await dialog.getByRole('button', { name: 'Save access' }).click();
    await page.getByText('Listed people only').first().waitFor({ state: 'detached' });
  });

  await t.test('a note is kept on this server, moved, archived and brought back', async () => {
    await menu('Launch brief', 'Keep on this server');
    await page.getByText('Launch brief is kept on this server').waitFor();
    await menu('Launch brief', 'Move note…');
    await dialog.getByLabel('Project').selectOption(other.id);
    await look('move');
    await dialog.getByRole('button', { name: 'Move note' }).click();
    await page.waitForURL(`**/p/${other.id}/notes/${note.id}`);
    await page.getByText('Launch brief moved to Operations').waitFor();
    assert.equal((await owner('GET', `/notes/${note.id}`)).local_only, true);
    await menu('Launch brief', 'Archive note');
    await page.getByText('This note is archived').waitFor();
    await look('archived');
    await page.getByRole('main').getByRole('button', { name: 'Restore' }).click();
    await page.getByText('This note is archived').waitFor({ state: 'detached' });
  });
});
