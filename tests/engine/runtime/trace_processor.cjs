// Perfetto's trace processor, as its viewer ships it, in node: requests on stdin, replies on stdout, each with its length before it.
const fs = require('fs'), path = require('path'), vm = require('vm');
const folder = process.argv[2];
const {port1, port2} = new MessageChannel();
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
process.type = 'renderer'; // the bundle is for browsers, and refuses node
globalThis.importScripts = () => {};
globalThis.location = {href: 'http://localhost/', pathname: '/'};
globalThis.XMLHttpRequest = class {
  open(method, url) { this.response = fs.readFileSync(path.join(folder, path.basename(url))); }
  send() {}
};
vm.runInThisContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'));
port2.onmessage = (event) => {
  const data = Buffer.from(event.data.buffer ? event.data : new Uint8Array(event.data));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(data.length);
  fs.writeSync(1, size);
  for (let at = 0; at < data.length;) at += fs.writeSync(1, data, at);
};
globalThis.onmessage({data: port1});
let rest = Buffer.alloc(0);
process.stdin.on('data', (data) => {
  rest = Buffer.concat([rest, data]);
  while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32LE(0)) {
    const size = rest.readUInt32LE(0);
    port2.postMessage(new Uint8Array(rest.subarray(4, 4 + size)));
    rest = rest.subarray(4 + size);
  }
});
process.stdin.on('end', () => process.exit(0));
