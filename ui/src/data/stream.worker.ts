// The SharedWorker: one stream for all tabs of the browser. Over plain HTTP/1.1 a
// browser has six connections to a server, and one stream per tab would use them
// up with the sixth tab.
import { Stream } from './stream.ts';

const ports = new Set<MessagePort>();
let stream: Stream | undefined;

function listen(port: MessagePort) {
  ports.add(port);
  if (stream && !stream.ended) {
    port.postMessage(stream.now);
    return;
  }
  stream = new Stream(told => ports.forEach(listener => listener.postMessage(told)));
}

function leave(port: MessagePort) {
  ports.delete(port);
  if (ports.size > 0) return;
  stream?.stop();
  stream = undefined;
}

addEventListener('connect', event => {
  const port = (event as MessageEvent).ports[0]!;
  port.addEventListener('message', ({ data }) => (data === 'listen' ? listen(port) : leave(port)));
  port.start();
});
