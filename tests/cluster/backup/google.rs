//! Google's store with a service account's file: the operator signs with its key and is given a token at the address that Google
//! has for it.
//!
//! The operator's own host file and authorities lead it to a server of this test, which looks at the signature.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::scenario::{Authority, Scenario};
use tests::testbed::wait;
use tokio::process::{Child, Command};

use super::stores::{SMALL, Source};
use super::{KEY, apply, is_that_file};
use crate::emulators::Emulator;
use crate::tap::Tap;

const PATIENCE: Duration = Duration::from_secs(60);
/// Where Google gives tokens; its clients know no other address (<https://developers.google.com/identity/protocols/oauth2/service-account>).
const HOST: &str = "oauth2.googleapis.com";
const ACCOUNT: &str = "backups@binnacle.iam.gserviceaccount.com";
const TOKEN: &str = "token-for-an-hour";
/// Gives the token for claims that are signed with the first of two keys that it leaves in files.
const SERVER: &str = r#"
const [address, folder, account, token] = process.argv.slice(1);
const crypto = require('crypto'), fs = require('fs'), https = require('https');
const pair = name => {
  const { publicKey, privateKey } = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 });
  fs.writeFileSync(`${folder}/${name}.pem`, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  return publicKey;
};
const publicKey = pair('account');
pair('another');
const tls = { cert: fs.readFileSync(`${folder}/server.crt`), key: fs.readFileSync(`${folder}/server.key`) };
const why = body => {
  const asked = new URLSearchParams(body);
  if (asked.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') return 'unsupported_grant_type';
  const [header, claims, signature] = (asked.get('assertion') ?? '').split('.');
  if (!signature) return 'invalid_request';
  const signed = Buffer.from(`${header}.${claims}`);
  if (!crypto.verify('sha256', signed, publicKey, Buffer.from(signature, 'base64url'))) return 'invalid_grant';
  const { iss, aud, scope, exp } = JSON.parse(Buffer.from(claims, 'base64url'));
  const isRight = iss === account && aud === 'https://oauth2.googleapis.com/token' && exp > Date.now() / 1000;
  return isRight && scope.startsWith('https://www.googleapis.com/auth/') ? null : 'invalid_grant';
};
https.createServer(tls, (request, answer) => {
  let body = '';
  request.on('data', part => body += part).on('end', () => {
    const error = request.url === '/token' ? why(body) : 'not_found';
    console.log(request.method, request.url, error ?? 'given');
    answer.writeHead(error ? 400 : 200, { 'content-type': 'application/json' });
    answer.end(JSON.stringify(error ? { error } : { access_token: token, expires_in: 3600, token_type: 'Bearer' }));
  });
}).listen(443, address);
"#;

pub(crate) async fn google_account(scenario: &mut Scenario) -> Result<()> {
    let server = Emulator::gcs(scenario).await?;
    let tap = Tap::start(scenario, &server.endpoint()).await?;
    let authority = Authority::make()?;
    let (_giver, keys) = token_server(scenario, &authority).await?;
    let deployed = scenario.deploy().await?;
    led_to_it(scenario, &authority).await?;
    deployed.ready().await?;

    let account = |key: &str| {
        let file = json!({"type": "service_account", "client_email": ACCOUNT, "private_key": key});
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "store"},
            "stringData": {"credentials.json": file.to_string()},
        })
    };
    let (kind, mut block, _token) = server.target(KEY);
    block["gcs"]["endpoint"] = json!(tap.endpoint());
    let source = Source::new(scenario, (kind, block, account(&keys[0])), SMALL).await?;
    let status = source.taken("once").await?;
    is_that_file(&server.fetch(KEY).await?, &status).await?;
    let heads = tap.take();
    let given = format!("Bearer {TOKEN}");
    ensure!(!heads.is_empty(), "the store was not asked");
    for head in heads {
        let shown = head.headers.get("authorization");
        ensure!(
            shown == Some(&given),
            "{} {} with {shown:?}",
            head.method,
            head.uri
        );
    }

    // Another account's key: refused in words, and nothing of the key is in them.
    apply(scenario, &account(&keys[1])).await?;
    source.apply("refused").await?;
    let refused = super::ended(scenario, "refused").await?;
    ensure!(
        !refused.succeeded && refused.reason.contains("invalid_grant"),
        "it ended as {refused:?}"
    );
    Ok(())
}

/// Starts it; answers it with the account's private key and another one.
async fn token_server(scenario: &Scenario, authority: &Authority) -> Result<(Child, [String; 2])> {
    let folder = scenario.folder().join("google");
    fs::create_dir_all(&folder)?;
    let issued = authority.issue(&[HOST.to_owned()])?;
    fs::write(folder.join("server.crt"), issued.certificate)?;
    fs::write(folder.join("server.key"), issued.key)?;
    let address = scenario.testbed().host_address().to_string();
    let log = fs::File::create(scenario.folder().join("tokens.log"))?;
    let child = Command::new("node")
        .args(["-e", SERVER, &address])
        .arg(&folder)
        .args([ACCOUNT, TOKEN])
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .context("node cannot be started")?;
    wait::until_taken("the server of tokens", PATIENCE, (address.as_str(), 443)).await?;
    let key = |name: &str| fs::read_to_string(folder.join(name));
    Ok((child, [key("account.pem")?, key("another.pem")?]))
}

/// Makes that address, and the authority behind it, the operator's own.
async fn led_to_it(scenario: &Scenario, authority: &Authority) -> Result<()> {
    let trusted = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "authorities"},
        "data": {"ca.crt": authority.certificate},
    });
    apply(scenario, &trusted).await?;
    let address = scenario.testbed().host_address().to_string();
    let pod: Value = json!({
        "hostAliases": [{"ip": address, "hostnames": [HOST]}],
        "containers": [{
            "name": "binnacle",
            "env": [{"name": "SSL_CERT_FILE", "value": "/etc/authorities/ca.crt"}],
            "volumeMounts": [{"name": "authorities", "mountPath": "/etc/authorities"}],
        }],
        "volumes": [{"name": "authorities", "configMap": {"name": "authorities"}}],
    });
    let patch = json!({"spec": {"template": {"spec": pod}}}).to_string();
    for arguments in [
        ["patch", "deployment", "binnacle", "--patch", &patch],
        [
            "rollout",
            "status",
            "deployment",
            "binnacle",
            "--timeout=180s",
        ],
    ] {
        scenario.kubectl(&arguments).await?;
    }
    Ok(())
}
