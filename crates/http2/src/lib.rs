//! A sans-IO HTTP/2 engine.
