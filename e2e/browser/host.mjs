// An MCP host as people have them: it gets nothing but the address. It finds the
// authorization server from the refusal (RFC 9728), registers itself (RFC 7591),
// sends the browser to consent, and then speaks MCP (2025-06-18) with its token.
import { callback, authorizeURL, redeem } from './server.mjs';

const protocol = '2025-06-18';

/** Begins to connect: `url` is for the browser, and connected() ends when consent was given there. */
export async function beginHost(t, server, name) {
  const refused = await fetch(server.mcp, { method: 'POST', headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }, body: '{}' });
  const where = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate'))?.[1];
  if (refused.status !== 401 || !where) throw new Error(`the address refuses without saying where to sign in: ${refused.status}`);
  const resource = await json(where);
  const issuer = resource.authorization_servers[0];
  const metadata = await json(`${issuer}/.well-known/oauth-authorization-server`);
  const back = await callback(t);
  const redirect = `http://127.0.0.1:${back.port}/callback`;
  const client = await json(metadata.registration_endpoint, { client_name: name, redirect_uris: [redirect] });
  const asked = authorizeURL({ ...server, mcp: resource.resource }, client.client_id, redirect);
  const connected = async () => {
    const { code } = await back.next();
    const { status, body } = await redeem(server, client.client_id, redirect, code, asked.verifier);
    if (status !== 200) throw new Error(`redeem: ${status} ${JSON.stringify(body)}`);
    return speak(server.mcp, body.access_token, name);
  };
  return { url: asked.url, connected };
}

/** An assistant that speaks MCP: initialize, tools/list, and then calls. */
async function speak(address, token, name) {
  let next = 0;
  const say = async (method, params, notification = false) => {
    const answer = await fetch(address, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': protocol },
      body: JSON.stringify({ jsonrpc: '2.0', ...(notification || { id: ++next }), method, ...(params && { params }) }),
    });
    const text = await answer.text();
    if (notification) return undefined;
    const message = text.startsWith('{') ? text : /^data: (.*)$/m.exec(text)?.[1];
    return message ? JSON.parse(message) : { status: answer.status };
  };
  const { result } = await say('initialize', { protocolVersion: protocol, capabilities: {}, clientInfo: { name, version: '1.0.0' } });
  if (!result?.serverInfo) throw new Error('initialize was not answered');
  await say('notifications/initialized', undefined, true);
  const tools = (await say('tools/list')).result.tools.map(tool => tool.name);
  const call = async (tool, args) => {
    const answer = await say('tools/call', { name: tool, arguments: args });
    return { refused: answer.result?.isError === true || answer.result === undefined, ...answer.result?.structuredContent };
  };
  return { name, tools, call };
}

async function json(url, body) {
  const answer = await fetch(url, body && { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}
