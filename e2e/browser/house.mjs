// A person's own hands and an assistant's, without a screen: the owner API with a
// session, consent, and calls of tools. Journeys use it for what is not their
// subject.
import { callback, authorizeURL, redeem, register } from './server.mjs';

/** Makes the first owner, and gives a client with their session. */
export async function setUp(server, person, workspace) {
  const secret = new URL(server.setup).searchParams.get('secret');
  const answer = await fetch(`${server.url}/api/v1/setup`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ secret, ...person, workspace }),
  });
  if (answer.status !== 200) throw new Error(`setup: ${answer.status} ${await answer.text()}`);
  return api(server, cookieOf(answer));
}

/** A client with the session of a person who has a password. */
export async function signInAs(server, { email, password }) {
  const answer = await reach(`${server.url}/api/v1/sign-in`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ email, password }),
  });
  if (answer.status !== 200) throw new Error(`sign in: ${answer.status} ${await answer.text()}`);
  return api(server, cookieOf(answer));
}

const cookieOf = answer => answer.headers.getSetCookie()[0].split(';')[0];

/** A server closes what was idle for long, which a client may notice with its next request only. */
const reach = async (address, options) => {
  try {
    return await fetch(address, options);
  } catch (error) {
    if (error.cause?.code !== 'ECONNRESET' && error.cause?.code !== 'UND_ERR_SOCKET') throw error;
    return fetch(address, options);
  }
};

/** api(method, path, body) asks the owner API with the cookie, and wants success. */
function api(server, cookie) {
  const ask = async (method, path, body) => {
    const answer = await reach(`${server.url}/api/v1${path}`, {
      method, headers: { Cookie: cookie, ...(body && { 'Content-Type': 'application/json' }) }, ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? undefined : answer.json();
  };
  ask.cookie = cookie;
  return ask;
}

/** Gives the browser the session of the client. */
export async function lend(context, server, { cookie }) {
  const [name, value] = cookie.split(/=(.*)/s);
  await context.addCookies([{ name, value, url: server.url, httpOnly: true, sameSite: 'Lax' }]);
}

/** Connects an assistant as this person, who approves in a browser of their own. */
export async function connect(t, browser, server, owner, name, workspaceID) {
  const back = await callback(t);
  const redirect = `http://127.0.0.1:${back.port}/callback`;
  const client = await register(server, name, redirect);
  const asked = authorizeURL(server, client, redirect);
  const context = await browser.newContext();
  await lend(context, server, owner);
  const page = await context.newPage();
  await page.goto(asked.url);
  await page.check(`input[name=workspace_id][value="${workspaceID}"]`);
  await page.check(`input[name=approve][value="${workspaceID}"]`);
  await page.click('button[value=connect]');
  const { code } = await back.next();
  await context.close();
  const { body } = await redeem(server, client, redirect, code, asked.verifier);
  return { name, call: (tool, args) => call(server, body.access_token, tool, args) };
}

/** Calls a tool (MCP 2025-06-18, tools/call). */
async function call(server, token, tool, args) {
  const answer = await reach(server.mcp, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-06-18' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: args } }),
  });
  const text = await answer.text();
  const json = text.startsWith('{') ? text : /^data: (.*)$/m.exec(text)?.[1];
  return { status: answer.status, ...JSON.parse(json).result?.structuredContent };
}
