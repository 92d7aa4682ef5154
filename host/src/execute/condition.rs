//! Writes the host's own condition and its event: that a module's answer was refused, and that it no longer is.
//!
//! Reads the resource afresh, so that nothing the module wrote is lost.

use contract::EventType;
use jiff::Timestamp;
use serde_json::Value;
use tracing::warn;

use super::{Error, Executor, Pass, kubernetes};
use crate::error::Chain;
use crate::observe::{self, Memory, WrittenObject};
use crate::refused;

impl Executor {
    /// Says on the resource that nothing of the decision was done, and why. Once per reason.
    pub(crate) async fn mark_refused(
        &self,
        pass: &Pass<'_>,
        reason: &str,
        message: &str,
        memory: &mut Memory,
    ) {
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let message = format!("Module {} was not followed: {message}", pass.module);
        let change = |status: &Value| refused::with(status, reason, &message, &now);
        match self.change_status(pass, change, memory).await {
            Ok(false) => {}
            Ok(true) => {
                let published =
                    kubernetes::publish(self, pass, EventType::Warning, reason, &message).await;
                if let Err(error) = published {
                    warn!(error = %Chain(&error), "Event not written");
                }
            }
            Err(error) => warn!(error = %Chain(&error), "Condition not written"),
        }
    }

    /// Takes the condition away after the module has decided again.
    pub(crate) async fn clear_refused(&self, pass: &Pass<'_>, memory: &mut Memory) {
        if refused::without(&pass.resource.status).is_none() {
            return;
        }
        if let Err(error) = self.change_status(pass, refused::without, memory).await {
            warn!(error = %Chain(&error), "Condition not removed");
        }
    }

    /// Whether there was anything to change.
    async fn change_status(
        &self,
        pass: &Pass<'_>,
        change: impl Fn(&Value) -> Option<Value>,
        memory: &mut Memory,
    ) -> Result<bool, Error> {
        let read = observe::resource(&self.client, pass.key).await;
        let read = read.map_err(|error| Error::Rejected {
            why: Chain(&error).to_string(),
        })?;
        let Some(fresh) = read.filter(|fresh| fresh.uid == pass.resource.uid) else {
            return Ok(false);
        };
        let Some(status) = change(&fresh.status).filter(|_| self.leadership.is_held()) else {
            return Ok(false);
        };
        let version =
            kubernetes::replace_status(self, pass, Some(fresh.resource_version), status).await?;
        memory.written.push(
            WrittenObject::Resource { version },
            std::time::Instant::now(),
        );
        Ok(true)
    }
}
