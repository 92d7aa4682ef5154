//! The verbs of `binnacle record`: taking recordings out of an operator, cutting one file out of them, and proving that no
//! secret is in one.

mod check;
mod cut;
mod needles;
mod pull;

pub use check::{CheckArgs, check};
pub use cut::{CutArgs, cut};
pub use pull::{PullArgs, pull};
