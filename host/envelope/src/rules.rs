//! The names of the envelope's rules, for metrics and conditions: bounded, one per refusal.
//!
//! The words are in [`crate::refusal`].

use crate::Refusal;

impl Refusal {
    /// The rule's name: one of [`Refusal::RULES`], fit for a metric's label.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        self.into()
    }

    /// Names of all rules.
    pub const RULES: &'static [&'static str] = <Self as strum::VariantNames>::VARIANTS;
}
