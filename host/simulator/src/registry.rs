//! Repositories that images are pulled from, by numbers: which one an image is of, and which ones have none.
//!
//! What an image holds is [`crate::release`]'s.

use crate::plan::Fault;
use crate::world::World;

/// The repository of a spec that names none.
const DEFAULT: u32 = 0;
/// Somebody mistyped it: it never had an image.
pub(crate) const MISTYPED: u32 = 9;

/// `spec.repository`, which is left out for the one that is meant then.
pub(crate) fn name(number: u32) -> Option<String> {
    (number != DEFAULT).then(|| format!("registry-{number}.example.com/etcd"))
}

/// The number of the repository in an image or in `spec.repository`.
pub(crate) fn number(image: &str) -> u32 {
    let rest = image.strip_prefix("registry-");
    let number = rest.and_then(|rest| rest.split('.').next()?.parse().ok());
    number.unwrap_or(DEFAULT)
}

impl World {
    /// Whether images can be pulled from there now.
    pub(crate) fn has_images(&self, repository: u32) -> bool {
        let faults = self.plan.faults.iter();
        let mut gone = faults.filter(|one| one.fault == Fault::RegistryGone(repository));
        let is_gone = gone.any(|one| {
            let is_for_good = one.lasts == 0 && one.at <= self.now;
            is_for_good || one.is_at(self.now)
        });
        self.images && repository != MISTYPED && !is_gone
    }
}
