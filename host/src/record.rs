//! The verbs of `binnacle record`: cutting one file out of recordings, and proving that no secret is in one.

mod check;
mod cut;
mod needles;

pub use check::{CheckArgs, check};
pub use cut::{CutArgs, cut};
