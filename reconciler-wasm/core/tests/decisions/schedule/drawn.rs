//! Drawn histories of a schedule: looks at any time, hosts that end in them, caches that are behind.

use contract::{ScheduledBackup, ScheduledState};

use super::{CREATED, backup, made, of};

/// What is drawn: how long until the next look, where the host ends in it, and which backups end meanwhile.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Whoever looks when, and wherever the host ends or its caches are behind: each time has one backup or is counted as missed,
/// none has two, and none is made beside one that is under way.
#[test]
fn no_history_of_a_schedule_loses_or_repeats_a_backup() {
    for seed in 0..400 {
        let mut draw = Draw(seed);
        let mut often = of("@every 10s");
        let mut stored: Vec<ScheduledBackup> = Vec::new();
        let mut clock = 0;
        // The last looks see all and are carried out whole.
        for rest in (0..50).rev() {
            let is_whole = rest < 6;
            clock += i64::try_from(draw.below(25)).unwrap() + 1;
            if is_whole || draw.below(4) > 0 {
                stored.clone_into(often.backups());
            }
            let before = often.status.clone();
            let decision = often.decide(clock);
            // Nothing of it, the status alone, or everything.
            let done = if is_whole { 2 } else { draw.below(3) };
            if done == 0 {
                often.status = before;
            }
            for name in made(&decision).into_iter().filter(|_| done == 2) {
                // The fresh read before it shows one that the caches do not.
                if stored.iter().any(|one| one.name == name) {
                    continue;
                }
                assert!(
                    stored.iter().all(ScheduledBackup::is_over),
                    "{seed}: {name} is made beside {stored:?}"
                );
                stored.push(backup(name, ScheduledState::UnderWay, clock));
            }
            for one in &mut stored {
                if is_whole || draw.below(3) == 0 {
                    one.state = ScheduledState::Succeeded;
                }
            }
        }
        let next = often.status.next_schedule_time.clone().unwrap();
        let next = next.parse::<jiff::Timestamp>().unwrap().as_second();
        let due = (next - CREATED.0 / 1000) / 10 - 1;
        let count = i64::try_from(stored.len()).unwrap();
        assert!(count > 3, "{seed}: {count}");
        assert_eq!(count + often.status.missed, due, "{seed}: {stored:?}");
    }
}
