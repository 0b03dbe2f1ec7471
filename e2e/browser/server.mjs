// The real binary on a free port and a throw-away folder, and what an assistant
// outside has: a registered client and a callback that waits for the browser.
import { execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** A folder that goes with the test. */
export async function temporaryFolder(t) {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'osfoundry-browser-'));
  t.after(() => fs.rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Builds the program, as another version of it if one is named. */
export async function build(folder, version) {
  const binary = path.join(folder, `osfoundry${version ?? ''}`);
  await run('go', ['build', ...(version ? ['-ldflags', `-X main.version=${version}`] : []), '-o', binary, './cmd/osfoundry'], { cwd: root, timeout: 600_000 });
  return binary;
}

/**
 * Starts `osfoundry serve`; OSFOUNDRY_BIN names a binary that is built already. It
 * is started again, at the same address, by what it returns as `again`.
 */
export async function startServer(t, folder) {
  const binary = process.env.OSFOUNDRY_BIN || await build(folder);
  const server = await serve(t, binary, folder, '127.0.0.1:0', 'Setup URL');
  const again = async (other = binary) => Object.assign(server, await serve(t, other, folder, new URL(server.url).host, 'MCP URL'));
  return Object.assign(server, { again });
}

/** `last` names the last line that it prints before it is ready. */
async function serve(t, binary, folder, address, last) {
  const server = spawn(binary, ['serve', '--listen', address, '--data', path.join(folder, 'data')], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(server, 'exit');
  let log = '';
  server.stderr.on('data', data => { log += data; });
  const stop = async () => { server.kill('SIGTERM'); await ended; };
  t.after(stop);
  const said = await new Promise((resolve, reject) => {
    let out = '';
    server.stdout.on('data', data => {
      out += data;
      if (new RegExp(`^${last}: .*\n`, 'm').test(out)) resolve(out);
    });
    ended.then(([code]) => reject(new Error(`osfoundry ended with ${code}:\n${out}${log}`)));
  });
  const line = name => new RegExp(`^${name}: (.*)$`, 'm').exec(said)?.[1];
  return { url: line('Address').replace(/\/$/, ''), setup: line('Setup URL'), mcp: line('MCP URL'), log: () => log, stop };
}

/** A client that registered itself (RFC 7591). */
export async function register(server, name, redirect) {
  const answer = await fetch(`${server.url}/api/v1/external-oauth/register`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ client_name: name, redirect_uris: [redirect] }),
  });
  if (answer.status !== 201) throw new Error(`register ${name}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()).client_id;
}

/** The address that the assistant opens in the browser (RFC 6749 §4.1.1, RFC 7636). */
export function authorizeURL(server, clientID, redirect, state = randomBytes(12).toString('base64url')) {
  const verifier = randomBytes(32).toString('base64url');
  const url = new URL('/api/v1/external-oauth/authorize', server.url);
  url.search = new URLSearchParams({
    response_type: 'code', client_id: clientID, redirect_uri: redirect, state, resource: server.mcp,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256',
    scope: 'osfoundry:read osfoundry:write osfoundry:run',
  });
  return { url: url.href, state, verifier };
}

/** Redeems a code (RFC 6749 §4.1.3). */
export async function redeem(server, clientID, redirect, code, verifier) {
  const answer = await fetch(`${server.url}/api/v1/external-oauth/token`, {
    method: 'POST', body: new URLSearchParams({ grant_type: 'authorization_code', client_id: clientID, redirect_uri: redirect, code, code_verifier: verifier, resource: server.mcp }),
  });
  return { status: answer.status, body: await answer.json() };
}

/** A callback of an assistant; next() resolves with the next request's query. */
export async function callback(t, options) {
  const waiting = [], came = [];
  const answer = (request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
    response.end('<!doctype html><html lang="en"><title>Assistant</title><link rel="icon" href="data:,"><h1>Back at the assistant</h1>');
    const query = Object.fromEntries(new URL(request.url, 'http://callback').searchParams);
    waiting.length ? waiting.shift()(query) : came.push(query);
  };
  const listener = options ? https.createServer(options, answer) : http.createServer(answer);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.after(() => { listener.closeAllConnections(); listener.close(); });
  return {
    port: listener.address().port,
    next: () => came.length ? Promise.resolve(came.shift()) : new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('the browser did not come to the callback')), 15_000);
      waiting.push(query => { clearTimeout(late); resolve(query); });
    }),
  };
}

/** A self-signed certificate, made by the program that comes with Go. */
export async function certificate(folder, host) {
  const { stdout } = await run('go', ['env', 'GOROOT'], { cwd: root });
  await run('go', ['run', path.join(stdout.trim(), 'src/crypto/tls/generate_cert.go'), '--host', host, '--ecdsa-curve', 'P256'], { cwd: folder, timeout: 300_000 });
  return { cert: await fs.readFile(path.join(folder, 'cert.pem')), key: await fs.readFile(path.join(folder, 'key.pem')) };
}
