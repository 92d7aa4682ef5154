//! Names and tokens, made from the entropy of the snapshot.
//!
//! The same snapshot gives the same names; two snapshots never do, but for members that the dialect numbers: those get
//! the lowest numbers that are free.

use std::collections::BTreeSet;

use crate::validate::Cluster;

/// Letters and digits without vowels and look-alikes, as Kubernetes uses for generated names.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Random characters of a member's name.
const SUFFIX: usize = 10;

/// A stream of numbers from the snapshot's entropy (splitmix64, <https://prng.di.unimi.it/splitmix64.c>).
pub(crate) struct Entropy(u64);

impl Entropy {
    pub(crate) fn of(snapshot: &contract::Snapshot) -> Self {
        // FNV-1a over all digits, so that any text is a seed.
        let seed = snapshot
            .entropy
            .bytes()
            .chain(snapshot.resource.uid.bytes())
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Names for this many members of `cluster`, sorted, none of which is among `taken`.
    pub(crate) fn members(
        &mut self,
        cluster: &Cluster,
        taken: &BTreeSet<&str>,
        count: usize,
    ) -> Vec<String> {
        let mut names: Vec<String> = if cluster.dialect.numbers_members() {
            let numbered = (0_u64..).map(|number| format!("{}-{number}", cluster.name));
            let free = numbered.filter(|name| !taken.contains(name.as_str()));
            free.take(count).collect()
        } else {
            (0..count)
                .map(|_| self.random(&cluster.name, taken))
                .collect()
        };
        names.sort();
        names
    }

    fn random(&mut self, cluster: &str, taken: &BTreeSet<&str>) -> String {
        loop {
            let suffix: String = (0..SUFFIX)
                .map(|_| char::from(ALPHABET[(self.next() % ALPHABET.len() as u64) as usize]))
                .collect();
            let name = format!("{cluster}-{suffix}");
            if !taken.contains(name.as_str()) {
                return name;
            }
        }
    }

    /// A bootstrap token.
    pub(crate) fn token(&mut self) -> String {
        format!("{:016x}{:016x}", self.next(), self.next())
    }
}
