// A model server that says what a test tells it to, when it tells it: chat
// completions as a stream (OpenAI's dialect).
import { once } from 'node:events';
import http from 'node:http';

/** Starts it. turn() resolves with the next request of an agent, which waits to be answered. */
export async function startModel(t) {
  const waiting = [], came = [];
  const server = http.createServer(async (request, response) => {
    for await (const _ of request); // what is asked is not this server's business
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const turn = answer(response);
    waiting.length ? waiting.shift()(turn) : came.push(turn);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => { server.closeAllConnections(); server.close(); });
  const host = `127.0.0.1:${server.address().port}`;
  return {
    host,
    url: `http://${host}/v1`,
    turn: () => came.length ? Promise.resolve(came.shift()) : new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('no agent asked the model')), 30_000);
      waiting.push(turn => { clearTimeout(late); resolve(turn); });
    }),
  };
}

function answer(response) {
  const chunk = (delta, finish = null) => response.write(`data: ${JSON.stringify({
    id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'plain', choices: [{ index: 0, delta, finish_reason: finish }],
  })}\n\n`);
  const end = finish => {
    chunk({}, finish);
    response.end('data: [DONE]\n\n');
  };
  chunk({ role: 'assistant', content: '' });
  return {
    say: text => chunk({ content: text }),
    end: () => end('stop'),
    /** Ends the turn with a call of a tool. */
    call: (name, args) => {
      chunk({ tool_calls: [{ index: 0, id: `call_${name}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }] });
      end('tool_calls');
    },
  };
}
