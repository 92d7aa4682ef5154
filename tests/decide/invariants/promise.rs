//! The promises, each with the words that it is printed by.
//!
//! Knows no fact. A promise without a fact that breaks it does not pass [`super::armed`].

macro_rules! promises {
    ($($name:ident = $words:literal,)+) => {
        /// What must hold of every history.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Promise {
            $($name,)+
        }

        impl Promise {
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)+];

            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $words,)+ }
            }
        }
    };
}

promises! {
    SnapshotsAreAnswered = "every snapshot is answered",
    DecisionsAreWithinTheEnvelope = "every decision stays within the envelope",
    NothingSpins = "nothing is done again and again",
    OthersKeepTheirs = "nothing of somebody else's is changed or deleted",
    NoWriteIsLost = "no acknowledged write is lost",
    PausedIsStill = "paused means no effect",
    RiskWaitsForItsBackup = "what is hard to take back waits for its backup",
    NobodyIsAlone = "nobody goes on alone without a consent",
    NewIsForBirth = "the state `new` is never used after birth",
    ChangesTakeTurns = "one membership change at a time",
    LeadersMoveFirst = "the leader is moved before it leaves",
    RestartsTakeTurns = "members are restarted one at a time",
    QuorumsStay = "no deed leaves fewer healthy voters than a quorum",
    LivingAreKept = "a living cluster is given up only by a consent",
    PassingAreAwaited = "a quorum that may come back is waited for",
    ListedDisksStay = "no disk of a listed member is deleted",
    DisksOfBeforeStay = "a restore keeps the disks of before until the cluster is whole",
    SpaceIsTheReason = "history is given up and members are stopped only for lack of space",
    AlarmsStay = "the alarm stays while a member is full",
    BudgetsGuard = "the budget is never weaker than the quorum",
    GoalsAreReached = "every cluster that can reach its goal does",
    GoalsAreRest = "a cluster at its goal rests",
    StatusesAreTrue = "the status claims what is so",
    LossIsSaid = "a cluster that lost its quorum says so",
    LossDestroysNothing = "without a quorum nothing is destroyed",
    LossIsRest = "a cluster that lost its quorum rests",
}

impl std::fmt::Display for Promise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
