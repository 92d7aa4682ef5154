//! A figure: what was measured, its samples, the yardstick's of the same run, and what was aimed at.

use std::fmt::Write as _;

use serde::Serialize;

/// The unit of what is divided by the yardstick's.
const RATIO: &str = "ratio";

/// One element of `bench.json`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    name: &'static str,
    value: f64,
    unit: &'static str,
    samples: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    yardstick: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aim: Option<Aim>,
}

/// What is good enough.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Aim {
    AtMost(f64),
    AtLeast(f64),
}

impl Aim {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }
}

impl Figure {
    /// The median of the samples.
    pub(crate) fn median(name: &'static str, unit: &'static str, samples: Vec<f64>) -> Self {
        Self {
            name,
            value: median(&samples),
            unit,
            samples,
            yardstick: Vec::new(),
            aim: None,
        }
    }

    /// The median of the samples over that of the yardstick's.
    pub(crate) fn ratio(name: &'static str, samples: Vec<f64>, yardstick: Vec<f64>) -> Self {
        Self {
            name,
            value: median(&samples) / median(&yardstick),
            unit: RATIO,
            samples,
            yardstick,
            aim: None,
        }
    }

    /// With the same measured of the yardstick, which the value does not count in.
    pub(crate) fn beside(mut self, yardstick: Vec<f64>) -> Self {
        self.yardstick = yardstick;
        self
    }

    pub(crate) const fn aiming_at(mut self, aim: Aim) -> Self {
        self.aim = Some(aim);
        self
    }
}

/// All figures for a person, aims beside values.
pub(crate) fn table(figures: &[Figure]) -> String {
    let mut text = format!(
        "{:<28} {:>10}  {:<9} {:<12} samples\n",
        "figure", "value", "unit", "aim"
    );
    for figure in figures {
        let Figure {
            name,
            value,
            unit,
            samples,
            yardstick,
            aim,
        } = figure;
        let aim = aim.map_or_else(String::new, |aim| {
            let (sign, bound) = match aim {
                Aim::AtMost(bound) => ("<=", bound),
                Aim::AtLeast(bound) => (">=", bound),
            };
            let verdict = if aim.is_met(*value) { "met" } else { "MISSED" };
            format!("{sign} {bound} {verdict}")
        });
        let mut of = in_words(samples);
        if !yardstick.is_empty() {
            let how = if *unit == RATIO { "over" } else { "beside" };
            of = format!("{of} {how} {}", in_words(yardstick));
        }
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<28} {value:>10.2}  {unit:<9} {aim:<12} {of}");
    }
    text
}

fn in_words(samples: &[f64]) -> String {
    let words: Vec<_> = samples.iter().map(|one| format!("{one:.2}")).collect();
    words.join(" ")
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = sorted.get(middle).copied().unwrap_or(f64::NAN);
    if sorted.len() % 2 == 1 {
        return upper;
    }
    let lower = middle.checked_sub(1).and_then(|below| sorted.get(below));
    lower.map_or(upper, |lower| f64::midpoint(*lower, upper))
}
