//! Decides one record again and compares.
//!
//! Compares bytes first and reads the answers only where these differ.

use contract::Decision;

use crate::difference::{self, Change, Difference};
use crate::module::Module;
use crate::output::count;
use crate::recorder::{Record, RecordedFailure};

/// The comparison of one record.
#[derive(Clone, Debug)]
pub enum Found {
    /// Equal bytes.
    Equal {
        /// Fuel was compared and is equal too. Another module or engine may use another amount.
        fuel_compared: bool,
    },
    /// It failed then and fails in the same way again.
    FailedAlike,
    /// It differs.
    Differs(Box<Difference>),
}

/// Decides one record again and compares with what was recorded.
pub(super) fn with_record(record: &Record, module: &Module, engine: &str) -> Found {
    let snapshot = record.snapshot.get().as_bytes();
    let Some(answer) = &record.answer else {
        return with_failure(record, module);
    };
    match module.answer(snapshot) {
        Ok(again) if again.bytes == answer.get().as_bytes() => {
            let same = record.module == module.digest() && record.engine == engine;
            match record.fuel.filter(|_| same) {
                Some(recorded) if recorded != again.fuel => differs(Difference::Fuel {
                    recorded,
                    replayed: again.fuel,
                }),
                fuel => Found::Equal {
                    fuel_compared: fuel.is_some(),
                },
            }
        }
        Ok(_) => with_answer(record, answer.get(), module),
        Err(failure) => differs(Difference::Failure {
            recorded: None,
            replayed: Some(RecordedFailure::from(&failure)),
        }),
    }
}

/// Lets two modules decide one record, and compares these two; what was recorded does not count.
pub(super) fn of_modules(record: &Record, one: &Module, other: &Module) -> Found {
    let snapshot = record.snapshot.get().as_bytes();
    let (one, other) = (one.decide(snapshot), other.decide(snapshot));
    match difference::between(one.as_ref(), other.as_ref()) {
        Some(difference) => differs(difference),
        None if one.is_err() => Found::FailedAlike,
        None => Found::Equal {
            fuel_compared: false,
        },
    }
}

fn differs(difference: Difference) -> Found {
    Found::Differs(Box::new(difference))
}

fn with_failure(record: &Record, module: &Module) -> Found {
    let recorded = record.failure.clone();
    let replayed = module
        .decide(record.snapshot.get().as_bytes())
        .err()
        .map(|failure| RecordedFailure::from(&failure));
    match (&recorded, &replayed) {
        (Some(then), Some(again)) if then.name == again.name => Found::FailedAlike,
        (Some(_) | None, Some(_) | None) => differs(Difference::Failure { recorded, replayed }),
    }
}

fn with_answer(record: &Record, recorded: &str, module: &Module) -> Found {
    let replayed = match module.decide(record.snapshot.get().as_bytes()) {
        Ok(answer) => answer.decision,
        Err(failure) => {
            return differs(Difference::Failure {
                recorded: None,
                replayed: Some(RecordedFailure::from(&failure)),
            });
        }
    };
    let changes = match serde_json::from_str::<Decision>(recorded) {
        Ok(recorded) => difference::changes(&recorded, &replayed),
        Err(error) => vec![Change {
            cause: "recorded answer unreadable".to_owned(),
            what: "answer".to_owned(),
            recorded: Some(format!("cannot be read: {error}")),
            replayed: Some(count(replayed.actions.len(), "action")),
        }],
    };
    differs(Difference::Answer { changes })
}
