//! Majorities: how many healthy voters a change must leave.
//!
//! Counts votes and reads no Kubernetes object. A member without evidence counts as not healthy.

/// Voters of a cluster and how many of them are known to be healthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Votes {
    pub(crate) voters: usize,
    pub(crate) healthy: usize,
}

/// Why a change could cost the quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooFew {
    pub(crate) healthy: usize,
    pub(crate) needed: usize,
}

/// The smallest majority of `voters`.
pub(crate) const fn quorum(voters: usize) -> usize {
    voters / 2 + 1
}

impl Votes {
    /// Whether a majority is known to be healthy.
    pub(crate) const fn has_quorum(self) -> bool {
        self.healthy >= quorum(self.voters)
    }

    /// Says why removing one voter could cost the quorum, or `None` if it cannot. `healthy` tells whether the
    /// leaver itself is healthy.
    pub(crate) fn why_unsafe_to_remove(self, healthy: bool) -> Option<TooFew> {
        let left = self.healthy - usize::from(healthy);
        // Of no voter the smallest majority is 1, so that the sole one stays.
        self.too_few(self.healthy, quorum(self.voters))
            .or_else(|| self.too_few(left, quorum(self.voters.saturating_sub(1))))
    }

    /// Says why promoting a healthy learner could cost the quorum, or `None` if it cannot: a majority that one healthy
    /// voter joins is one.
    pub(crate) fn why_unsafe_to_promote(self) -> Option<TooFew> {
        self.too_few(self.healthy, quorum(self.voters))
    }

    fn too_few(self, healthy: usize, needed: usize) -> Option<TooFew> {
        (healthy < needed).then_some(TooFew { healthy, needed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sole_voter_is_never_removed() {
        assert!(
            Votes {
                voters: 1,
                healthy: 1
            }
            .why_unsafe_to_remove(true)
            .is_some()
        );
    }

    #[test]
    fn a_sick_voter_may_leave_three_but_a_healthy_one_may_not_follow() {
        let votes = Votes {
            voters: 3,
            healthy: 2,
        };
        assert_eq!(votes.why_unsafe_to_remove(false), None);
        assert_eq!(
            votes.why_unsafe_to_remove(true),
            Some(TooFew {
                healthy: 1,
                needed: 2
            })
        );
    }

    #[test]
    fn nothing_leaves_a_cluster_without_quorum() {
        assert!(
            Votes {
                voters: 3,
                healthy: 1
            }
            .why_unsafe_to_remove(false)
            .is_some()
        );
        assert!(
            Votes {
                voters: 3,
                healthy: 1
            }
            .why_unsafe_to_promote()
            .is_some()
        );
    }

    #[test]
    fn one_voter_may_become_two_only_while_it_is_healthy() {
        assert_eq!(
            Votes {
                voters: 1,
                healthy: 1
            }
            .why_unsafe_to_promote(),
            None
        );
        assert!(
            Votes {
                voters: 1,
                healthy: 0
            }
            .why_unsafe_to_promote()
            .is_some()
        );
    }
}
