//! Gives the module a stack and a heap of the right size. What a call leaves behind is wiped after it, so the stack is not
//! larger than need be; growing memory is a system call, so the heap suffices for most decisions from the start.
#![expect(
    clippy::disallowed_macros,
    reason = "this speaks to cargo; what decides does not"
)]

fn main() {
    println!("cargo::rustc-link-arg-cdylib=-zstack-size=262144");
    println!("cargo::rustc-link-arg-cdylib=--initial-heap=1048576");
    println!("cargo::rerun-if-changed=build.rs");
}
