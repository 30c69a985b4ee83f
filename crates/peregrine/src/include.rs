//! Brings generated code into a crate.

/// Includes what `peregrine_build::compile` made in the build script: the tree of packages as modules.
///
/// ```ignore
/// mod pb {
///     peregrine::include_proto!();
/// }
/// use pb::greeter::v1::{Greeter, GreeterServer, HelloReply, HelloRequest};
/// ```
///
/// With a name it includes the output that was given this name: `include_proto!("admin")` goes with
/// `peregrine_build::configure().name("admin")`.
#[macro_export]
macro_rules! include_proto {
    () => {
        $crate::include_proto!("peregrine");
    };
    ($name:literal) => {
        ::core::include!(::core::concat!(
            ::core::env!(
                "OUT_DIR",
                "include_proto! includes what a build script made: add a build.rs that calls \
                 peregrine_build::compile(\"proto/your.proto\")"
            ),
            "/",
            $name,
            ".rs"
        ));
    };
}
