//! Namespaces that a suite owns, and the rights of service accounts, borrowed.
//!
//! A namespace goes with its value, also when a test fails; one whose process was killed is removed by the next that makes
//! one. `BINNACLE_KEEP=1` keeps them for a look.

use std::path::{Path, PathBuf};
use std::process::{Stdio, id};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1 as core;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::{Testbed, pki};

const OWNER: &str = "testbed.binnacle/owner-process";

/// A fresh namespace in which pods must be restricted.
pub struct Namespace {
    name: String,
    kubectl: PathBuf,
    kubeconfig: PathBuf,
}

impl Namespace {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if std::env::var_os("BINNACLE_KEEP").is_some() {
            eprintln!("Namespace {} is kept", self.name);
            return;
        }
        // Finalizers may take long or need an operator that is gone; nobody waits for them here.
        let _ = std::process::Command::new(&self.kubectl)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args([
                "delete",
                "namespace",
                &self.name,
                "--wait=false",
                "--request-timeout=5s",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

impl Testbed {
    /// Makes a fresh namespace whose name begins with `prefix`.
    pub async fn namespace(&self, prefix: &str) -> Result<Namespace> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let namespaces: Api<core::Namespace> = Api::all(self.client());
        remove_orphans(&namespaces).await?;
        // The time too: the system may give this process's number to a later one while the namespace still goes away.
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() & 0xff_ffff;
        let name = format!(
            "{prefix}-{}-{}-{now:06x}",
            id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let namespace = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {
                OWNER: id().to_string(),
                "pod-security.kubernetes.io/enforce": "restricted",
            }},
        }))?;
        namespaces
            .create(&PostParams::default(), &namespace)
            .await
            .with_context(|| format!("namespace {name} cannot be made"))?;
        let made = Namespace {
            name,
            kubectl: self.kubectl()?,
            kubeconfig: self.kubeconfig(),
        };
        let accounts: Api<core::ServiceAccount> = Api::namespaced(self.client(), made.name());
        super::wait::until(
            "the default service account",
            Duration::from_secs(20),
            async || accounts.get("default").await.map(drop).map_err(Into::into),
        )
        .await?;
        Ok(made)
    }

    /// Writes a kubeconfig with a token of a service account, so that a process of this machine has exactly its rights.
    pub async fn service_account_kubeconfig(
        &self,
        namespace: &str,
        account: &str,
    ) -> Result<PathBuf> {
        let accounts: Api<core::ServiceAccount> = Api::namespaced(self.client(), namespace);
        let request: TokenRequest = serde_json::from_value(
            json!({"spec": {"audiences": [], "expirationSeconds": 86_400}}),
        )?;
        let token = accounts
            .create_token_request(account, &PostParams::default(), &request)
            .await
            .with_context(|| format!("no token for service account {namespace}/{account}"))?
            .status
            .context("the API server answered without a token")?
            .token;
        let file = self
            .layout
            .state()
            .join(format!("{namespace}.{account}.kubeconfig"));
        let (server, ca) = (
            self.record.block.api_url(),
            self.layout.pki().join("ca.crt"),
        );
        pki::write_kubeconfig(&file, &server, &ca, &json!({"token": token}))?;
        Ok(file)
    }
}

/// Removes namespaces whose makers are gone without having done so.
async fn remove_orphans(namespaces: &Api<core::Namespace>) -> Result<()> {
    for namespace in namespaces
        .list(&ListParams::default().labels(OWNER))
        .await?
    {
        let owner = namespace.labels().get(OWNER).cloned().unwrap_or_default();
        let lives = Path::new("/proc").join(&owner).exists();
        if !lives
            && namespace.metadata.deletion_timestamp.is_none()
            && std::env::var_os("BINNACLE_KEEP").is_none()
        {
            let _ = namespaces
                .delete(&namespace.name_any(), &DeleteParams::default())
                .await;
        }
    }
    Ok(())
}
