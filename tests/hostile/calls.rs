//! Modules that pass every check and fail when asked: each failure has its name, and gives no decision at all.

use std::sync::atomic::{AtomicUsize, Ordering};

use host::module::{ANSWER_LIMIT, Failure, Module};
use small::{NOTHING, Text, answer};

use crate::attempt::attempts;
use crate::sealing::{self, engine, sealed};

/// A module that does `reconcile`, with `data` at hand.
fn module(reconcile: &str, data: &str) -> Module {
    let text = Text {
        reconcile,
        data: data.as_bytes(),
        ..Text::default()
    };
    sealing::load(&engine(), &text).expect("it loads")
}

/// Asks for a decision and wants the failure of this name.
fn check_fails(module: &Module, name: &str) -> Failure {
    let failure = module.decide(b"{}").expect_err("a failure");
    assert_eq!(failure.name(), name, "{failure}");
    failure
}

fn check_unreadable(data: &str) {
    check_fails(&module(&answer(data.len()), data), "Undecodable");
}

#[test]
fn a_small_module_decides_and_uses_the_same_fuel_each_time() {
    let module = module(&answer(NOTHING.len()), NOTHING);
    let first = module.decide(b"{}").expect("a decision");
    assert_eq!(first.bytes, NOTHING.as_bytes());
    assert!(first.decision.actions.is_empty());
    assert!(first.fuel > 0);
    for _ in 0..10 {
        assert_eq!(module.decide(b"{}").expect("a decision").fuel, first.fuel);
    }
}

#[test]
fn a_trap_is_a_failure() {
    let failure = check_fails(&module("unreachable", ""), "Trap");
    assert!(failure.to_string().contains("unreachable"), "{failure}");
    check_fails(&module("(call $deep) (i32.const 0)", ""), "Trap");
}

/// By its fuel; on a machine that does much else the clock may be first.
#[test]
fn a_loop_without_end_is_stopped() {
    let module = module("(loop (br 0)) (i32.const 0)", "");
    let failure = module.decide(b"{}").expect_err("a failure");
    let is_stopped = matches!(
        failure,
        Failure::OutOfFuel { .. } | Failure::OutOfTime { .. }
    );
    assert!(is_stopped, "{failure}");
}

#[test]
fn a_module_that_eats_memory_is_stopped_at_the_cap() {
    let eats = "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 64)) (i32.const -1)))) unreachable";
    check_fails(&module(eats, ""), "OutOfMemory");
}

#[test]
fn answers_that_are_no_decision_cannot_be_read() {
    check_unreadable("");
    check_unreadable("garbage");
    check_unreadable("{}");
    check_unreadable("[1,2,3]");
    check_unreadable(&NOTHING.replace(r#""schema":1"#, r#""schema":2"#));
    // Recordings hold an answer as it is, one line each.
    check_unreadable(&NOTHING.replace(r#""actions""#, "\n\"actions\""));
    check_unreadable(&format!(" {NOTHING}"));
    let unknown = r#"[{"effect":{"dropDatabase":{}},"pre":{"resourceUid":""}}]"#;
    check_unreadable(&NOTHING.replace("[]", unknown));
}

#[test]
fn an_answer_that_points_outside_the_memory_is_a_trap() {
    check_fails(&module(&answer(1 << 30), ""), "Trap");
}

#[test]
fn an_answer_beyond_the_limit_is_not_taken() {
    let more = format!(
        "(drop (memory.grow (i32.const 128))) {}",
        answer(ANSWER_LIMIT + 1)
    );
    check_fails(&module(&more, ""), "TooLarge");
}

#[test]
fn the_words_of_a_refusal_are_kept() {
    let words = "this is not a snapshot";
    let refuse = answer(words.len()).replace(
        "(i32.const 64) (i32.const 0)",
        "(i32.const 64) (i32.const 1)",
    );
    let failure = check_fails(&module(&refuse, words), "Refused");
    assert!(failure.to_string().contains(words), "{failure}");
}

/// A fresh instance each time: whatever one call breaks, the next one finds as it was made.
#[test]
fn nothing_is_left_of_a_call() {
    let once = "(if (i32.load8_u (i32.const 128)) (then unreachable)) (i32.store8 (i32.const 128) (i32.const 1))";
    let module = module(&format!("{once} {}", answer(NOTHING.len())), NOTHING);
    for _ in 0..100 {
        module.decide(b"{}").expect("memory is fresh");
    }
}

/// All of `modules/`, and three that end in other ways, each while another module is asked again and again.
#[test]
fn failing_modules_harm_no_other_on_the_same_engine() {
    let engine = engine();
    let load = |reconcile: &str, data: &str| {
        let text = Text {
            reconcile,
            data: data.as_bytes(),
            ..Text::default()
        };
        sealing::load(&engine, &text).expect("it loads")
    };
    let good = load(&answer(NOTHING.len()), NOTHING);
    let hostile = attempts().into_iter().map(|attempt| {
        let module = Module::load(&engine, &sealed(&attempt.core)).expect("it passes the checks");
        let snapshot = serde_json::to_vec(&attempt.snapshot).expect("a snapshot is JSON");
        (module, snapshot)
    });
    let ends = [
        "unreachable",
        "(loop (br 0)) (i32.const 0)",
        "(call $deep) (i32.const 0)",
    ];
    let ending = ends.map(|reconcile| (load(reconcile, ""), b"{}".to_vec()));
    let bad: Vec<(Module, Vec<u8>)> = hostile.chain(ending).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let ask = || {
            while let Some((module, snapshot)) = bad.get(next.fetch_add(1, Ordering::SeqCst)) {
                // How it ends is for others to judge.
                let _ = module.decide(snapshot);
            }
        };
        let asking = [0; 3].map(|_| scope.spawn(ask));
        // Each call within the time that a call has.
        let (mut calls, mut refused) = (0, None);
        while refused.is_none() && asking.iter().any(|thread| !thread.is_finished()) {
            refused = good.decide(b"{}").err();
            calls += 1;
        }
        eprintln!("{calls} calls beside {} modules", bad.len());
        assert!(refused.is_none(), "whatever the others do: {refused:?}");
        assert!(calls > bad.len(), "only {calls} calls");
    });
}

/// More calls at once than there are slots: they wait, and none fails.
#[test]
fn calls_beyond_the_slots_wait_for_their_turn() {
    let module = module(&answer(NOTHING.len()), NOTHING);
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                for _ in 0..10 {
                    module.decide(b"{}").expect("a decision");
                }
            });
        }
    });
}
