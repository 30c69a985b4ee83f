'use strict';
// The gRPC interoperability cases on grpc-js, as a client and as a server, with the official flags.
//
//     interop_node.js server --port=N
//     interop_node.js client --server_host=H --server_port=N --test_case=CASE
//
// $NODE_PATH must have @grpc/grpc-js and @grpc/proto-loader, and --proto_file name ../proto/testing.proto; `cargo xtask
// interop` sees to both. A client exits with 0 only if the case's own assertions hold.

const { deepStrictEqual: equal } = require('assert');
const fs = require('fs');
const path = require('path');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const INITIAL_KEY = 'x-grpc-test-echo-initial';
const TRAILING_KEY = 'x-grpc-test-echo-trailing-bin';
const LARGE_REQUEST = 271828;
const LARGE_RESPONSE = 314159;
const REQUEST_SIZES = [27182, 8, 1828, 45904];
const RESPONSE_SIZES = [31415, 9, 2653, 58979];

const [side, ...words] = process.argv.slice(2);
const flags = {
  server_host: '127.0.0.1',
  test_case: 'large_unary',
  use_tls: 'false',
  soak_iterations: '10',
  soak_overall_timeout_seconds: '10',
  soak_per_iteration_max_acceptable_latency_ms: '1000',
  proto_file: path.join(__dirname, '..', 'proto', 'testing.proto'),
};
for (const word of words) {
  const [, name, value] = /^--([a-z_]+)=(.*)$/s.exec(word) ?? [];
  if (!name) throw new Error(`${word} is no --name=value`);
  flags[name] = value;
}

const definition = loader.loadSync(flags.proto_file, { keepCase: true, longs: Number, enums: Number });
const { TestService, UnimplementedService } = grpc.loadPackageDefinition(definition).grpc.testing;

const zeros = (size) => ({ body: Buffer.alloc(size) });
const tls = flags.use_tls === 'true';

// --- server

/** The two keys of the specification, as initial and as trailing metadata. */
function echoed(call) {
  const initial = new grpc.Metadata();
  const trailing = new grpc.Metadata();
  for (const value of call.metadata.get(INITIAL_KEY)) initial.add(INITIAL_KEY, value);
  for (const value of call.metadata.get(TRAILING_KEY)) trailing.add(TRAILING_KEY, value);
  return { initial, trailing };
}

/** The error that a request asks for, or nothing. */
function askedError(request, metadata) {
  const { code = 0, message: details = '' } = request.response_status ?? {};
  return code === 0 ? null : { code, details, metadata };
}

/** Writes the responses that one request asks for, each after its interval. */
async function respond(call, request) {
  for (const { size = 0, interval_us: micros = 0 } of request.response_parameters ?? []) {
    if (micros > 0) await new Promise((done) => setTimeout(done, micros / 1000));
    if (call.cancelled) return;
    call.write({ payload: zeros(size) });
  }
}

function unaryCall(call, callback) {
  const { initial, trailing } = echoed(call);
  call.sendMetadata(initial);
  const error = askedError(call.request, trailing);
  if (error) callback(error);
  else callback(null, { payload: zeros(call.request.response_size) }, trailing);
}

function fullDuplexCall(call) {
  const { initial, trailing } = echoed(call);
  call.sendMetadata(initial);
  // What the requests have asked for so far, one after the other. (A loop over the call would close it at its end.)
  let turn = Promise.resolve();
  call.on('data', (request) => {
    const error = askedError(request, trailing);
    turn = turn.then(() => (error ? call.emit('error', error) : respond(call, request)));
  });
  call.on('end', () => turn.then(() => call.end(trailing)));
}

const handlers = {
  EmptyCall: (call, callback) => callback(null, {}),
  UnaryCall: unaryCall,
  CacheableUnaryCall: unaryCall,
  StreamingOutputCall: async (call) => {
    await respond(call, call.request);
    call.end();
  },
  StreamingInputCall: (call, callback) => {
    let total = 0;
    call.on('data', ({ payload }) => (total += payload.body.length));
    call.on('end', () => callback(null, { aggregated_payload_size: total }));
  },
  FullDuplexCall: fullDuplexCall,
  HalfDuplexCall: (call) => {
    const requests = [];
    call.on('data', (request) => requests.push(request));
    call.on('end', async () => {
      for (const request of requests) await respond(call, request);
      call.end();
    });
  },
};

function serve() {
  const server = new grpc.Server();
  server.addService(TestService.service, handlers);
  const credentials = tls
    ? grpc.ServerCredentials.createSsl(null, [
        { private_key: fs.readFileSync(flags.tls_key_file), cert_chain: fs.readFileSync(flags.tls_cert_file) },
      ])
    : grpc.ServerCredentials.createInsecure();
  server.bindAsync(`127.0.0.1:${flags.port}`, credentials, (error) => {
    if (error) throw error;
  });
  process.on('SIGTERM', () => server.tryShutdown(() => process.exit(0)));
}

// --- client

function connect(Service = TestService) {
  const address = `${flags.server_host}:${flags.server_port}`;
  // Channels of one address would share connections, and channel_soak wants none shared.
  const options = { 'grpc.use_local_subchannel_pool': 1 };
  if (!tls) return new Service(address, grpc.credentials.createInsecure(), options);
  options['grpc.ssl_target_name_override'] = flags.server_host_override;
  return new Service(address, grpc.credentials.createSsl(fs.readFileSync(flags.ca_file)), options);
}

/** One call of one response: that response or none, initial metadata, status. */
function unary(client, method, request, metadata = new grpc.Metadata()) {
  return new Promise((done) => {
    const result = {};
    const call = client[method](request, metadata, (_, response) => {
      result.response = response;
      finish();
    });
    call.on('metadata', (initial) => (result.initial = initial));
    call.on('status', (status) => {
      result.status = status;
      finish();
    });
    let parts = 2;
    function finish() {
      parts -= 1;
      if (parts === 0) done(result);
    }
  });
}

/** A stream of responses: read one by one with `next`, and to its end with `end`. */
class Responses {
  constructor(call) {
    this.call = call;
    this.messages = [];
    this.taken = 0;
    this.wake = () => {};
    call.on('metadata', (initial) => (this.initial = initial));
    call.on('data', (message) => {
      this.messages.push(message);
      this.wake();
    });
    call.on('error', () => {});
    call.on('status', (status) => {
      this.status = status;
      this.wake();
    });
  }

  /** The next message, or nothing once the call has its status. */
  async next() {
    while (this.taken === this.messages.length && !this.status) {
      await new Promise((wake) => (this.wake = wake));
    }
    return this.messages[this.taken++];
  }

  async end() {
    while (!this.status) await new Promise((wake) => (this.wake = wake));
    return this.status;
  }

  sizes() {
    return this.messages.map(({ payload }) => payload.body.length);
  }
}

const ping = (responseSize, requestSize, micros = 0) => ({
  response_parameters: [{ size: responseSize, interval_us: micros }],
  payload: zeros(requestSize),
});

async function largeUnary(client) {
  const request = { response_size: LARGE_RESPONSE, payload: zeros(LARGE_REQUEST) };
  const { response, status } = await unary(client, 'UnaryCall', request);
  equal(status.code, grpc.status.OK);
  equal(response.payload.body, Buffer.alloc(LARGE_RESPONSE));
}

async function endsAsAsked(client, message, duplex) {
  const response_status = { code: grpc.status.UNKNOWN, message };
  const { status } = await unary(client, 'UnaryCall', { response_status });
  equal([status.code, status.details], [grpc.status.UNKNOWN, message]);
  if (!duplex) return;
  const call = client.FullDuplexCall();
  const responses = new Responses(call);
  call.write({ response_status });
  call.end();
  const end = await responses.end();
  equal([end.code, end.details], [grpc.status.UNKNOWN, message]);
}

async function soak(once) {
  const begin = Date.now();
  for (let i = 0; i < Number(flags.soak_iterations); i += 1) {
    const start = Date.now();
    await once();
    const took = Date.now() - start;
    if (took > Number(flags.soak_per_iteration_max_acceptable_latency_ms)) {
      throw new Error(`an iteration took ${took} ms`);
    }
  }
  const seconds = (Date.now() - begin) / 1000;
  if (seconds > Number(flags.soak_overall_timeout_seconds)) throw new Error(`the soak took ${seconds} s`);
}

const cases = {
  async empty_unary(client) {
    const { response, status } = await unary(client, 'EmptyCall', {});
    equal([response, status.code], [{}, grpc.status.OK]);
  },
  large_unary: largeUnary,
  async client_streaming(client) {
    const total = await new Promise((done, fail) => {
      const call = client.StreamingInputCall((error, response) => {
        if (error) fail(error);
        else done(response.aggregated_payload_size);
      });
      for (const size of REQUEST_SIZES) call.write({ payload: zeros(size) });
      call.end();
    });
    equal(total, 74922);
  },
  async server_streaming(client) {
    const response_parameters = RESPONSE_SIZES.map((size) => ({ size }));
    const responses = new Responses(client.StreamingOutputCall({ response_parameters }));
    equal((await responses.end()).code, grpc.status.OK);
    equal(responses.sizes(), RESPONSE_SIZES);
  },
  async ping_pong(client) {
    const call = client.FullDuplexCall();
    const responses = new Responses(call);
    for (const [i, size] of RESPONSE_SIZES.entries()) {
      call.write(ping(size, REQUEST_SIZES[i]));
      equal((await responses.next()).payload.body.length, size);
    }
    call.end();
    equal(await responses.next(), undefined);
    equal(responses.status.code, grpc.status.OK);
  },
  async empty_stream(client) {
    const call = client.FullDuplexCall();
    const responses = new Responses(call);
    call.end();
    equal((await responses.end()).code, grpc.status.OK);
    equal(responses.messages, []);
  },
  async timeout_on_sleeping_server(client) {
    const call = client.FullDuplexCall(new grpc.Metadata(), { deadline: Date.now() + 1 });
    const responses = new Responses(call);
    call.write(ping(RESPONSE_SIZES[0], REQUEST_SIZES[0], 1e6));
    equal((await responses.end()).code, grpc.status.DEADLINE_EXCEEDED);
  },
  async cancel_after_begin(client) {
    const code = await new Promise((done) => {
      client.StreamingInputCall((error) => done(error?.code)).cancel();
    });
    equal(code, grpc.status.CANCELLED);
  },
  async cancel_after_first_response(client) {
    const call = client.FullDuplexCall();
    const responses = new Responses(call);
    call.write(ping(RESPONSE_SIZES[0], REQUEST_SIZES[0]));
    equal((await responses.next()).payload.body.length, RESPONSE_SIZES[0]);
    call.cancel();
    equal((await responses.end()).code, grpc.status.CANCELLED);
    equal(responses.messages.length, 1);
  },
  status_code_and_message: (client) => endsAsAsked(client, 'test status message', true),
  special_status_message: (client) =>
    endsAsAsked(client, '\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \u{1f608}\t\n', false),
  async custom_metadata(client) {
    const initial = 'test_initial_metadata_value';
    const trailing = Buffer.from([0xab, 0xab, 0xab]);
    const metadata = new grpc.Metadata();
    metadata.set(INITIAL_KEY, initial);
    metadata.set(TRAILING_KEY, trailing);
    const request = { response_size: LARGE_RESPONSE, payload: zeros(LARGE_REQUEST) };
    const results = [await unary(client, 'UnaryCall', request, metadata)];
    const call = client.FullDuplexCall(metadata);
    const responses = new Responses(call);
    call.write(ping(LARGE_RESPONSE, LARGE_REQUEST));
    call.end();
    await responses.end();
    equal(responses.messages.length, 1);
    for (const result of [...results, responses]) {
      equal(result.status.code, grpc.status.OK);
      equal(result.initial.get(INITIAL_KEY), [initial]);
      equal(result.status.metadata.get(TRAILING_KEY), [trailing]);
    }
  },
  async unimplemented_method(client) {
    equal((await unary(client, 'UnimplementedCall', {})).status.code, grpc.status.UNIMPLEMENTED);
  },
  async unimplemented_service() {
    const client = connect(UnimplementedService);
    equal((await unary(client, 'UnimplementedCall', {})).status.code, grpc.status.UNIMPLEMENTED);
  },
  rpc_soak: (client) => soak(() => largeUnary(client)),
  channel_soak: () =>
    soak(async () => {
      const client = connect();
      await largeUnary(client);
      client.close();
    }),
};

async function run() {
  const wanted = cases[flags.test_case];
  if (!wanted) throw new Error(`unsupported test case: ${flags.test_case}`);
  const client = connect();
  await wanted(client);
  client.close();
}

if (side === 'server') {
  serve();
} else {
  run().then(
    () => process.exit(0),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
}
