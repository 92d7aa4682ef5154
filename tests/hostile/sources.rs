//! Every module of `modules/` through each source: it comes as it is, and is contained as it would be from anywhere else.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;
use contract::MODULE_KEY;
use host::module::{Module, digest};
use host::registry::SideProcess;
use host::rollout::Sources;
use host::signature::Policy;
use k8s_openapi::ByteString;
use kube::Client;
use serde_json::{Value, json};
use tests::sealed::sealed as binnacle;
use tokio::net::TcpListener;

use crate::attempt::attempts;
use crate::contained::stopped;
use crate::sealing::{engine, sealed};

/// What an API server and a registry answer, by path.
type Answers = BTreeMap<String, Vec<u8>>;

fn put_config_map(answers: &mut Answers, name: &str, module: &[u8]) {
    let packed = zstd::encode_all(module, 1).expect("it packs");
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
        "binaryData": {MODULE_KEY: ByteString(packed)},
    });
    let path = format!("/api/v1/namespaces/default/configmaps/{name}");
    answers.insert(path, map.to_string().into_bytes());
}

fn put_artifact(answers: &mut Answers, name: &str, module: &[u8]) {
    let layer =
        json!({"mediaType": "application/wasm", "digest": digest(module), "size": module.len()});
    let config = json!({"mediaType": "application/vnd.wasm.config.v0+json", "digest": digest(b"{}"), "size": 2});
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": [layer]});
    let path = format!("/v2/hostile/{name}");
    let blob = format!("{path}/blobs/{}", digest(module));
    answers.insert(blob, module.to_vec());
    let manifest = manifest.to_string().into_bytes();
    answers.insert(format!("{path}/manifests/1"), manifest);
}

#[tokio::test]
async fn every_module_comes_through_each_source_as_it_is_and_is_contained() {
    let folder = tempfile::tempdir().expect("a folder");
    let attempts = attempts();
    let mut answers = Answers::new();
    for attempt in &attempts {
        let module = sealed(&attempt.core);
        put_config_map(&mut answers, &attempt.file, &module);
        put_artifact(&mut answers, &attempt.file, &module);
        let file = folder.path().join(format!("{}.wasm", attempt.file));
        std::fs::write(file, &module).expect("a file");
    }
    let app = Router::new().fallback(async move |uri: Uri| match answers.get(uri.path()) {
        Some(body) => body.clone().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let served = app.clone();
    tokio::spawn(async move { axum::serve(listener, served).await });
    let sources = Sources {
        client: Client::new(app, "default"),
        namespace: "default".to_owned(),
        built_in: Arc::default(),
        registries: SideProcess::of(binnacle().binary.clone()),
        policy: Policy::default(),
    };
    let engine = engine();
    for (number, attempt) in attempts.iter().enumerate() {
        let name = &attempt.file;
        let module = sealed(&attempt.core);
        let path = folder.path().join(format!("{name}.wasm"));
        let reference = format!("{address}/hostile/{name}:1");
        let from: [Value; 3] = [
            json!({"configMap": {"name": name}}),
            json!({"file": {"path": path}}),
            json!({"oci": {"reference": reference, "plainHttp": true}}),
        ];
        let mut fetched = Vec::new();
        for source in from {
            let spec = json!({"role": "Active", "sha256": digest(&module), "source": source});
            let found = sources.of_spec(&spec).await;
            let found = found.unwrap_or_else(|error| panic!("{name} from {source}: {error}"));
            assert!(
                found.bytes == module,
                "{name} from {source} is another module"
            );
            fetched.push(found.bytes);
        }
        // The bytes are the same, so one of them stands for all; each source has its turn.
        let loaded =
            Module::load(&engine, &fetched[number % fetched.len()]).expect("it is a module");
        let (stopped, _) = stopped(&loaded, attempt);
        assert!(
            stopped.by(&attempt.rule, &attempt.also),
            "{name}: {stopped:?}"
        );
    }
}
