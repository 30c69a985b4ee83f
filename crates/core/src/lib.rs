//! gRPC without I/O.
