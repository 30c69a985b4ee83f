//! Generated code that has to compile.
//!
//! The protos use every keyword and many names that generated code uses itself, wherever a proto may have a name
//! (wire-rules G1 to G3). That this crate compiles, without a warning and with the documentation's code blocks left
//! alone, is the test; `tests/` makes calls over it.

/// Messages by buffa. One of the packages is called `peregrine`, hence the path with `::`.
pub mod owned {
    ::peregrine::include_proto!("owned");
}

/// Messages by buffa; handlers take views of them.
pub mod views {
    ::peregrine::include_proto!("views");
}

/// The details of failed calls by both codecs.
pub mod rpc {
    /// By buffa.
    pub mod buffa {
        ::peregrine::include_proto!("rpc_buffa");
    }

    /// By prost.
    pub mod prost {
        ::peregrine::include_proto!("rpc_prost");
    }
}

/// Messages by prost; trait methods have bodies.
pub mod prost {
    ::peregrine::include_proto!("prost");
}
