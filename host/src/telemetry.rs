//! Logs: where they go and in which form. ERROR is a bug or lost data, WARN someone should look, INFO an effect on the
//! world, DEBUG a pass and its reason.
//!
//! Does not decide what is logged.

use std::io::IsTerminal;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt::format::FmtSpan;

/// The form of the logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text on a terminal, else JSON.
    #[default]
    Auto,
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging to standard error. `filter` is a level or a list such as `info,host=debug`.
///
/// # Errors
/// The filter cannot be read.
pub fn start(format: LogFormat, filter: &str) -> Result<(), ParseError> {
    let filter = EnvFilter::builder().parse(filter)?;
    let is_terminal = std::io::stderr().is_terminal();
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_span_events(FmtSpan::NONE)
        .with_ansi(is_terminal);
    let is_json = match format {
        LogFormat::Auto => !is_terminal,
        LogFormat::Text => false,
        LogFormat::Json => true,
    };
    // A test may have started logging before; the first one stays.
    let _ = if is_json {
        logs.json()
            .flatten_event(true)
            .with_span_list(false)
            .try_init()
    } else {
        logs.with_target(false).try_init()
    };
    Ok(())
}
