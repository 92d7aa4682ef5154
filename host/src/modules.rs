//! The verbs of `binnacle module` that are about ReconcilerModules: packing and pushing one, and telling how a Shadow differs.

mod diff;
mod object;
mod pack;
mod push;

pub use diff::{DiffArgs, diff};
pub use pack::{PackArgs, pack};
pub use push::{PushArgs, push};
