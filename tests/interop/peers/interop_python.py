"""The gRPC interoperability cases on grpcio, as a client and as a server, with the official flags.

    interop_python.py server --port=N
    interop_python.py client --server_host=H --server_port=N --test_case=CASE

The modules that grpc_tools.protoc makes of ../proto/testing.proto must be on PYTHONPATH; `cargo xtask test`
sees to that. A client exits with 0 only if the case's own assertions hold.
"""

import argparse
import queue
import signal
import sys
import time
from concurrent import futures

import grpc
import testing_pb2 as pb
import testing_pb2_grpc as rpc

INITIAL_KEY = "x-grpc-test-echo-initial"
TRAILING_KEY = "x-grpc-test-echo-trailing-bin"

LARGE_REQUEST = 271_828
LARGE_RESPONSE = 314_159
REQUEST_SIZES = (27_182, 8, 1_828, 45_904)
RESPONSE_SIZES = (31_415, 9, 2_653, 58_979)


def zeros(size):
    return pb.Payload(body=bytes(size))


# --- server ---


class TestService(rpc.TestServiceServicer):
    def EmptyCall(self, request, context):
        return pb.Empty()

    def UnaryCall(self, request, context):
        echo_metadata(context)
        end_as_asked(request, context)
        if request.response_compressed.value:
            context.set_compression(grpc.Compression.Gzip)
        return pb.SimpleResponse(payload=zeros(request.response_size))

    CacheableUnaryCall = UnaryCall

    def StreamingOutputCall(self, request, context):
        echo_metadata(context)
        if any(parameters.compressed.value for parameters in request.response_parameters):
            context.set_compression(grpc.Compression.Gzip)
        yield from responses(request, context)
        end_as_asked(request, context)

    def StreamingInputCall(self, requests, context):
        total = sum(len(request.payload.body) for request in requests)
        return pb.StreamingInputCallResponse(aggregated_payload_size=total)

    def FullDuplexCall(self, requests, context):
        echo_metadata(context)
        for request in requests:
            end_as_asked(request, context)
            yield from responses(request, context)

    def HalfDuplexCall(self, requests, context):
        for request in list(requests):
            yield from responses(request, context)


def responses(request, context):
    for parameters in request.response_parameters:
        time.sleep(parameters.interval_us / 1e6)
        if not parameters.compressed.value:
            context.disable_next_message_compression()
        yield pb.StreamingOutputCallResponse(payload=zeros(parameters.size))


def end_as_asked(request, context):
    """Ends the call with the status that the request names, if it names one."""
    if not request.HasField("response_status") or request.response_status.code == 0:
        return
    asked = request.response_status
    code = next(code for code in grpc.StatusCode if code.value[0] == asked.code)
    context.abort(code, asked.message)


def echo_metadata(context):
    metadata = dict(context.invocation_metadata())
    if INITIAL_KEY in metadata:
        context.send_initial_metadata(((INITIAL_KEY, metadata[INITIAL_KEY]),))
    if TRAILING_KEY in metadata:
        context.set_trailing_metadata(((TRAILING_KEY, metadata[TRAILING_KEY]),))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def serve(args):
    # very_large_request is longer than the default allows.
    options = [("grpc.max_receive_message_length", 64 << 20)]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), options=options)
    rpc.add_TestServiceServicer_to_server(TestService(), server)
    address = f"127.0.0.1:{args.port}"
    if args.use_tls == "true":
        credentials = grpc.ssl_server_credentials([(read(args.tls_key_file), read(args.tls_cert_file))])
        bound = server.add_secure_port(address, credentials)
    else:
        bound = server.add_insecure_port(address)
    if bound == 0:
        sys.exit(f"could not listen on port {args.port}")
    server.start()
    signal.signal(signal.SIGTERM, lambda *_: server.stop(grace=1))
    server.wait_for_termination()


# --- client ---


class Client:
    """One channel and the cases, each a method named as the official list names it."""

    def __init__(self, args):
        self.args = args
        self.channel = self.connect()
        self.stub = rpc.TestServiceStub(self.channel)

    def connect(self):
        address = f"{self.args.server_host}:{self.args.server_port}"
        if self.args.use_tls == "false":
            return grpc.insecure_channel(address)
        options = [("grpc.ssl_target_name_override", self.args.server_host_override)]
        return grpc.secure_channel(address, grpc.ssl_channel_credentials(read(self.args.ca_file)), options)

    def empty_unary(self):
        equal(self.stub.EmptyCall(pb.Empty()), pb.Empty())

    def large_unary(self):
        large_unary(self.stub)

    def client_streaming(self):
        requests = (pb.StreamingInputCallRequest(payload=zeros(size)) for size in REQUEST_SIZES)
        equal(self.stub.StreamingInputCall(requests).aggregated_payload_size, sum(REQUEST_SIZES))

    def server_streaming(self):
        request = pb.StreamingOutputCallRequest(
            response_parameters=[pb.ResponseParameters(size=size) for size in RESPONSE_SIZES]
        )
        sizes = [len(response.payload.body) for response in self.stub.StreamingOutputCall(request)]
        equal(sizes, list(RESPONSE_SIZES))

    def ping_pong(self):
        pings = Pings()
        call = self.stub.FullDuplexCall(pings)
        for request_size, response_size in zip(REQUEST_SIZES, RESPONSE_SIZES):
            pings.send(duplex_request(response_size, request_size))
            equal(next(call).payload, zeros(response_size))
        pings.end()
        equal(list(call), [])

    def empty_stream(self):
        equal(list(self.stub.FullDuplexCall(iter(()))), [])

    def timeout_on_sleeping_server(self):
        pings = Pings()
        call = self.stub.FullDuplexCall(pings, timeout=0.001)
        pings.send(duplex_request(RESPONSE_SIZES[0], REQUEST_SIZES[0], interval_us=1_000_000))
        fails_with(call, grpc.StatusCode.DEADLINE_EXCEEDED)
        pings.end()

    def cancel_after_begin(self):
        pings = Pings()
        call = self.stub.StreamingInputCall.future(pings)
        call.cancel()
        equal(call.cancelled(), True)
        equal(call.code(), grpc.StatusCode.CANCELLED)
        pings.end()

    def cancel_after_first_response(self):
        pings = Pings()
        call = self.stub.FullDuplexCall(pings)
        pings.send(duplex_request(RESPONSE_SIZES[0], REQUEST_SIZES[0]))
        equal(next(call).payload, zeros(RESPONSE_SIZES[0]))
        call.cancel()
        fails_with(call, grpc.StatusCode.CANCELLED)
        pings.end()

    def status_code_and_message(self):
        self.ends_as_asked("test status message")

    def special_status_message(self):
        self.ends_as_asked("\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n", duplex=False)

    def ends_as_asked(self, message, duplex=True):
        status = pb.EchoStatus(code=grpc.StatusCode.UNKNOWN.value[0], message=message)
        error = failure_of(self.stub.UnaryCall, pb.SimpleRequest(response_status=status))
        equal((error.code(), error.details()), (grpc.StatusCode.UNKNOWN, message))
        if duplex:
            call = self.stub.FullDuplexCall(iter((pb.StreamingOutputCallRequest(response_status=status),)))
            fails_with(call, grpc.StatusCode.UNKNOWN)
            equal(call.details(), message)

    def custom_metadata(self):
        initial, trailing = "test_initial_metadata_value", b"\xab\xab\xab"
        metadata = ((INITIAL_KEY, initial), (TRAILING_KEY, trailing))
        request = pb.SimpleRequest(response_size=LARGE_RESPONSE, payload=zeros(LARGE_REQUEST))
        _, unary = self.stub.UnaryCall.with_call(request, metadata=metadata)
        duplex = self.stub.FullDuplexCall(
            iter((duplex_request(LARGE_RESPONSE, LARGE_REQUEST),)), metadata=metadata
        )
        equal(len(list(duplex)), 1)
        for call in (unary, duplex):
            equal(dict(call.initial_metadata()).get(INITIAL_KEY), initial)
            equal(dict(call.trailing_metadata()).get(TRAILING_KEY), trailing)

    def client_compressed_unary(self):
        def call(expected, compression):
            request = pb.SimpleRequest(
                expect_compressed=pb.BoolValue(value=expected),
                response_size=LARGE_RESPONSE,
                payload=zeros(LARGE_REQUEST),
            )
            return self.stub.UnaryCall(request, compression=compression)

        gzip, none = grpc.Compression.Gzip, grpc.Compression.NoCompression
        # The probe lies: a server that looks refuses it.
        equal(failure_of(call, True, none).code(), grpc.StatusCode.INVALID_ARGUMENT)
        equal(call(True, gzip).payload, zeros(LARGE_RESPONSE))
        equal(call(False, none).payload, zeros(LARGE_RESPONSE))

    def server_compressed_unary(self):
        # grpcio hides whether a message came compressed; the content has to be right.
        for compressed in (True, False):
            request = pb.SimpleRequest(
                response_compressed=pb.BoolValue(value=compressed),
                response_size=LARGE_RESPONSE,
                payload=zeros(LARGE_REQUEST),
            )
            equal(self.stub.UnaryCall(request).payload, zeros(LARGE_RESPONSE))

    def server_compressed_streaming(self):
        asked = ((31_415, True), (92_653, False))
        request = pb.StreamingOutputCallRequest(
            response_parameters=[
                pb.ResponseParameters(size=size, compressed=pb.BoolValue(value=compressed))
                for size, compressed in asked
            ]
        )
        sizes = [len(response.payload.body) for response in self.stub.StreamingOutputCall(request)]
        equal(sizes, [size for size, _ in asked])

    def unimplemented_method(self):
        self.is_unimplemented(self.stub)

    def unimplemented_service(self):
        self.is_unimplemented(rpc.UnimplementedServiceStub(self.channel))

    def is_unimplemented(self, stub):
        equal(failure_of(stub.UnimplementedCall, pb.Empty()).code(), grpc.StatusCode.UNIMPLEMENTED)

    def rpc_soak(self):
        self.soak(lambda: large_unary(self.stub))

    def channel_soak(self):
        def once():
            with self.connect() as channel:
                large_unary(rpc.TestServiceStub(channel))

        self.soak(once)

    def soak(self, once):
        start = time.monotonic()
        for _ in range(self.args.soak_iterations):
            begin = time.monotonic()
            once()
            took = (time.monotonic() - begin) * 1_000
            if took > self.args.soak_per_iteration_max_acceptable_latency_ms:
                sys.exit(f"an iteration took {took:.0f} ms")
        if time.monotonic() - start > self.args.soak_overall_timeout_seconds:
            sys.exit("the soak took too long")


class Pings:
    """A request stream that is fed one message at a time."""

    def __init__(self):
        self.queue = queue.SimpleQueue()

    def send(self, request):
        self.queue.put(request)

    def end(self):
        self.queue.put(None)

    def __iter__(self):
        return self

    def __next__(self):
        request = self.queue.get()
        if request is None:
            raise StopIteration
        return request


def duplex_request(response_size, request_size, interval_us=0):
    return pb.StreamingOutputCallRequest(
        response_parameters=[pb.ResponseParameters(size=response_size, interval_us=interval_us)],
        payload=zeros(request_size),
    )


def large_unary(stub):
    request = pb.SimpleRequest(response_size=LARGE_RESPONSE, payload=zeros(LARGE_REQUEST))
    equal(stub.UnaryCall(request).payload, zeros(LARGE_RESPONSE))


def failure_of(method, *arguments):
    try:
        method(*arguments)
    except grpc.RpcError as error:
        return error
    sys.exit("the call should have failed")


def fails_with(call, code):
    try:
        for _ in call:
            pass
    except grpc.RpcError:
        pass
    equal(call.code(), code)


def equal(got, wanted):
    if got != wanted:
        sys.exit(f"got {got!r:.200}, wanted {wanted!r:.200}")


def run_case(args):
    client = Client(args)
    if args.test_case not in CASES:
        sys.exit(f"unsupported test case: {args.test_case}")
    try:
        getattr(client, args.test_case)()
    except grpc.RpcError as error:
        sys.exit(f"{error.code().name}: {error.details()}")
    client.channel.close()


CASES = """empty_unary large_unary client_streaming server_streaming ping_pong empty_stream
timeout_on_sleeping_server cancel_after_begin cancel_after_first_response status_code_and_message
special_status_message custom_metadata unimplemented_method unimplemented_service rpc_soak channel_soak
client_compressed_unary server_compressed_unary server_compressed_streaming""".split()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("side", choices=("client", "server"))
    parser.add_argument("--port", type=int)
    parser.add_argument("--server_host", default="127.0.0.1")
    parser.add_argument("--server_port", type=int)
    parser.add_argument("--test_case", default="large_unary")
    parser.add_argument("--use_tls", default="false", choices=("false", "true"))
    parser.add_argument("--tls_cert_file")
    parser.add_argument("--tls_key_file")
    parser.add_argument("--use_test_ca", default="true")
    parser.add_argument("--ca_file")
    parser.add_argument("--server_host_override")
    parser.add_argument("--soak_iterations", type=int, default=10)
    parser.add_argument("--soak_overall_timeout_seconds", type=float, default=10)
    parser.add_argument("--soak_per_iteration_max_acceptable_latency_ms", type=float, default=1_000)
    args = parser.parse_args()
    if args.side == "server":
        serve(args)
    else:
        run_case(args)


if __name__ == "__main__":
    main()
