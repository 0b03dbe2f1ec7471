// handoff.mjs HARNESS_DIR URL OUT_DIR [HOST…]
// The second story, once per host with a model of its own: the owner invites the
// connection to a session → the host proposes a handoff and sees it wait → the
// owner reads what it asks for and accepts exactly that → the host is started
// again, sees its task and reads the result. Exit 0 only if every host held it.
//
// The hosts' own scripts, their scripted model and the owner are the harness's.
import { spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const HOSTS = ['codex', 'claude'];
const PATIENCE = 180_000; // ms for one start of a host
const [harness, url, out, ...wanted] = process.argv.slice(2);
if (!out) { console.error('usage: handoff.mjs HARNESS_DIR URL OUT_DIR [HOST…]'); process.exit(64); }
const { Owner } = await import(path.resolve(harness, 'owner.mjs'));
const owner = new Owner(new URL(url).origin);

const expect = (what, got, want) => {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
};

// A gate is asked by the scripted model right before a call; what the owner does
// first happens then.
const gates = new Map();
const gateServer = http.createServer(async (req, res) => {
  const gate = gates.get(req.url);
  try {
    await gate.act();
    res.writeHead(204).end();
  } catch (e) {
    gate.failed ??= e;
    res.writeHead(500).end(e.message);
  }
});
await new Promise(resolve => gateServer.listen(0, '127.0.0.1', resolve));

function gate(act) {
  const at = `/${crypto.randomUUID()}`;
  gates.set(at, { act });
  return `http://127.0.0.1:${gateServer.address().port}${at}`;
}

/** Starts a host with a plan and returns what its model was handed back, step by step. */
async function play(host, dir, phase, plan) {
  const file = path.join(dir, `plan-${phase}.json`), script = path.resolve(harness, 'hosts', `${host}.sh`);
  fs.mkdirSync(dir, { recursive: true });
  fs.writeFileSync(file, JSON.stringify(plan, null, 1));
  const child = spawn('bash', [script, url, file, dir], { detached: true, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, OWNER_WORKSPACE: owner.workspace.id } });
  let said = '';
  child.stdout.on('data', d => { said += d; });
  const late = setTimeout(() => process.kill(-child.pid), PATIENCE); // with what it started
  const code = await new Promise(resolve => child.on('close', resolve));
  clearTimeout(late);
  const failed = [...gates.values()].find(g => g.failed)?.failed;
  gates.clear();
  if (failed) throw failed;
  if (code !== 0) throw new Error(`start ${phase}: ${said.trim().split('\n').at(-1) || `exit ${code}`}`);
  return fs.readFileSync(path.join(dir, 'results.jsonl'), 'utf8').trim().split('\n').map(l => JSON.parse(l).text);
}

/** What a tool answered, out of what the host shows its model, which may be wrapped in words. */
function answer(text) {
  const from = text.indexOf('{'), to = text.lastIndexOf('}');
  try {
    return JSON.parse(text.slice(from, to + 1));
  } catch {
    throw new Error(`no structured result in ${text.slice(0, 200)}`);
  }
}

async function story(host, dir) {
  const tag = `${host} ${new Date().toISOString().slice(11, 19)}`;
  const project = await owner.addProject(`Handoff ${tag}`);
  const note = await owner.addNote(project.id, `Plan of ${tag}`, '# Plan\n\nThree steps.');
  const session = await owner.call('POST', `/projects/${project.id}/agent-sessions`, { type: 'agent', title: `Research ${tag}`,
    agents: [{ slug: 'researcher', instructions: 'Sum up what is here.', provider: 'rehearsal', tools: ['list_project_resources', 'read_note'] }] });
  const before = new Set((await owner.connections()).map(c => c.id));
  const ofSession = `/agent-sessions/${session.id}`, here = { session_type: 'agent', session_id: session.id };
  const asked = { goal: `Sum up the plan of ${tag}.`, context_summary: 'The plan lies in the project.', requested_output: 'Three lines.' };
  const proposal = { ...here, ...asked, max_rounds: 4, idempotency_key: `handoff-${crypto.randomUUID()}` };

  let connection, task;
  const invite = async () => {
    const made = (await owner.connections()).filter(c => !before.has(c.id));
    expect('new connections', made.length, 1);
    connection = made[0].id;
    await owner.addToProject(project.id, connection);
    await owner.call('PUT', `${ofSession}/connections/${connection}`, { seat: 'contributor' });
  };
  const accept = async () => {
    const { items } = await owner.call('GET', `${ofSession}/external-handoffs?state=pending`);
    expect('handoffs that the owner sees', items.length, 1);
    const { id, digest, connection: by, goal, context_summary, requested_output } = items[0];
    expect('what the owner sees', { goal, context_summary, requested_output, by: by.id }, { ...asked, by: connection });
    const decided = await owner.call('POST', `${ofSession}/external-handoffs/${id}/decision`, { decision: 'accept', digest });
    expect('state after accepting', decided.state, 'accepted');
    task = decided.task_id;
  };

  const poll = { tool: 'list_session_handoffs$', arguments: here };
  const first = (await play(host, dir, 1, [
    { tool: 'list_sessions$', arguments: {} },
    { tool: 'propose_session_handoff$', arguments: proposal, gate: gate(invite) },
    { tool: 'propose_session_handoff$', arguments: proposal },
    { tool: 'request_session_run$', arguments: { ...here, goal: 'Run it now.', idempotency_key: `run-${crypto.randomUUID()}` } },
    { ...poll }, { ...poll, gate: gate(accept) },
  ]));
  expect('sessions before the invitation', answer(first[0]).items, []);
  const proposed = answer(first[1]), again = answer(first[2]), waiting = answer(first[4]).items, decided = answer(first[5]).items;
  expect('proposed', proposed.status, 'pending');
  expect('proposed again with the same key', again.handoff_id, proposed.handoff_id);
  expect('a run by a contributor', /seat_required/.test(first[3]), true);
  expect('polled before the decision', waiting.map(h => [h.handoff_id, h.status]), [[proposed.handoff_id, 'pending']]);
  expect('polled after it', decided.map(h => [h.handoff_id, h.status, h.task_id]), [[proposed.handoff_id, 'accepted', task]]);

  // A scripted model does not wait, so its reading is held until the owner sees the task over.
  const over = async () => {
    for (const until = Date.now() + 30_000; Date.now() < until; await new Promise(r => setTimeout(r, 50))) {
      if ((await owner.call('GET', `${ofSession}/tasks/${task}`)).state === 'succeeded') return;
    }
    throw new Error('the task did not succeed within 30 s');
  };
  const second = await play(host, dir, 2, [
    { tool: 'list_session_tasks$', arguments: here },
    { tool: 'read_session_task_result$', arguments: { ...here, task_id: task }, gate: gate(over) },
    { tool: 'cancel_session_handoff$', arguments: { handoff_id: proposed.handoff_id } },
  ]);
  expect('its tasks', answer(second[0]).items.map(t => [t.task_id, t.handoff_id]), [[task, proposed.handoff_id]]);
  const result = answer(second[1]);
  expect('the result', [result.task_id, result.status, result.result_by, result.rehearsed], [task, 'succeeded', 'researcher', true]);
  expect('the result names the note that the agent read', result.result.includes(note.id) || result.result.includes(`Plan of ${tag}`), true);
  expect('cancelled after it was accepted', /already_decided/.test(second[2]), true);
  await owner.revoke(connection);
}

await owner.signIn();
const hosts = wanted.length ? wanted.filter(h => HOSTS.includes(h)) : HOSTS;
let failed = 0;
for (const host of hosts) {
  const t0 = Date.now();
  const problem = await story(host, path.join(out, `${host}-handoff`)).then(() => undefined, e => e.message);
  if (problem) failed++;
  console.log(`${`${host} handoff`.padEnd(21)} ${problem ? 'FAIL' : 'ok  '} ${((Date.now() - t0) / 1000).toFixed(1).padStart(5)} s  ${problem ?? 'all steps'}`);
}
console.log(`${hosts.length - failed} passed, ${failed} failed`);
gateServer.close();
gateServer.closeAllConnections();
process.exit(failed ? 1 : 0);
