//! What is wrong with a file, for people: where, what, what to do.

use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file, from the top of the checkout.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            what,
            remedy,
        } = self;
        write!(f, "{file}:{line}: {what}. {remedy}")
    }
}

/// The line of a byte of a text, from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// The first line in which two texts differ, from 1.
pub(crate) fn line_of_difference(one: &str, other: &str) -> usize {
    let same = one.lines().zip(other.lines());
    same.take_while(|(one, other)| one == other).count() + 1
}

/// The first line that holds `word`, from 1; the first line of all when none does.
pub(crate) fn line_with(text: &str, word: &str) -> usize {
    text.find(word).map_or(1, |at| line_of(text, at))
}
