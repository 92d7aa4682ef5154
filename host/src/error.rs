//! How errors are shown: the whole chain, once, at the place that logs it.

use std::error::Error;
use std::fmt;

/// Shows an error and all its sources, outermost first.
#[derive(Debug)]
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.0.to_string();
        f.write_str(&shown)?;
        let mut next = self.0.source();
        while let Some(error) = next {
            let text = error.to_string();
            // Libraries often repeat their source in their own text.
            if !shown.contains(&text) {
                write!(f, ": {text}")?;
                shown = text;
            }
            next = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn every_source_is_shown_once() {
        let error = Outer(std::io::Error::other("inner"));
        assert_eq!(Chain(&error).to_string(), "outer: inner");
    }
}
