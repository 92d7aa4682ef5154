//! Foreign bytes: whatever reads some answers each input without a panic.
//!
//! Each target reads its committed corpus, `corpus/TARGET`, and then edited documents of it. With
//! `BOLERO_RANDOM_TEST_TIME_MS` it does so for longer, and `cargo bolero test` lets coverage lead the edits. An input that
//! broke something belongs into the corpus. `CORPUS=write` makes the corpus anew, from the golden recordings
//! and, of objects, the worlds.

mod corpus;
mod edit;
mod proofs;
mod targets;
mod worlds;

use bolero::check;

use corpus::documents;
use edit::{Edit, edited};
use targets::{Reached, Target};

/// Edits of one document at a time.
const EDITS: usize = 6;
/// Edited documents of a target in a plain `cargo test`.
const ITERATIONS: usize = 1_000;

/// Documents of the target as they are, and then edited. Of each at least so many must have been read, have acted, been allowed
/// and been refused: what is committed is read after a change of the schema, too, and a fuzzer that decodes nothing cannot pass.
macro_rules! fuzz {
    ($name:ident, $target:expr, $plain:expr, $least:expr) => {
        #[test]
        fn $name() {
            let target = $target;
            let documents = documents(target);
            let plain = Reached::default();
            for (name, bytes) in &documents {
                eprintln!("{name}");
                target.read(bytes, &plain);
            }
            plain.check($plain);
            let reached = Reached::default();
            let texts: Vec<&[u8]> = documents.iter().map(|(_, bytes)| &bytes[..]).collect();
            check!()
                .with_iterations(ITERATIONS)
                .with_type::<(u16, Vec<Edit>)>()
                .for_each(|(which, edits)| {
                    let text = texts[usize::from(*which) % texts.len()];
                    let few = edits
                        .len()
                        .min(1 + usize::from(*which) / texts.len() % EDITS);
                    target.read(&edited(text, &edits[..few]), &reached);
                });
            reached.check($least);
        }
    };
}

fuzz!(
    any_bytes_are_a_snapshot_or_none,
    Target::Snapshot,
    [30, 8, 30, 0],
    [20, 10, 20, 0]
);
fuzz!(
    any_bytes_are_a_decision_within_the_envelope_or_none,
    Target::Decision,
    [25, 8, 10, 100],
    [20, 5, 3, 100]
);
fuzz!(
    any_bytes_are_a_recording_or_none,
    Target::Recording,
    [23, 0, 0, 0],
    [20, 0, 0, 0]
);
fuzz!(
    any_object_is_a_child_that_is_decided_beside,
    Target::Child,
    [30, 25, 25, 0],
    [60, 50, 50, 0]
);
fuzz!(
    any_object_is_a_resource_that_is_decided_on,
    Target::Resource,
    [75, 50, 70, 0],
    [20, 5, 20, 0]
);
fuzz!(
    any_bytes_are_a_proof_or_none,
    Target::Proof,
    [45, 0, 9, 35],
    [1_000, 0, 10, 1_000]
);
