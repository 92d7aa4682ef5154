//! The verbs of `binnacle module` that are about ReconcilerModules: packing one, and telling how a Shadow differs.

mod diff;
mod pack;

pub use diff::{DiffArgs, diff};
pub use pack::{PackArgs, pack};
