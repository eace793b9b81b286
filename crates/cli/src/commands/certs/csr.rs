//! `kubewright certs csr`: a certificate that a signer of the cluster has signed.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestSpec,
};
use kube::Client;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::json;
use tokio::time::Instant;

use super::runtime::run_with_runtime;
use crate::current::ClusterFlags;
use crate::failure::{Failure, Outcome};
use crate::files::{Readers, write};
use crate::output::Output;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Request the certificate for these DNS names and IP addresses; the first one is the common name
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,

    /// The signer name, such as example.com/webhooks; the signer has to run in the cluster
    #[arg(long, value_name = "NAME", required = true)]
    signer: Option<String>,

    /// Approve the request; requires the permission to approve
    #[arg(long)]
    approve: bool,

    /// Time to wait for the certificate
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,

    /// Write tls.crt and tls.key to this directory
    #[arg(long, value_name = "DIRECTORY", default_value = "certificates")]
    out: PathBuf,

    /// Overwrite existing files
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    cluster: ClusterFlags,

    /// Output format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(super) output: Output,
}

pub(super) fn run(ui: &Ui, arguments: &Arguments) -> Outcome {
    let [certificate, key] = ["tls.crt", "tls.key"].map(|name| arguments.out.join(name));
    if !arguments.force
        && let Some(there) = [&certificate, &key].into_iter().find(|path| path.exists())
    {
        return Err(Failure::new(format!("{} exists already", there.display()))
            .hint("pass --force to replace both files, or name another folder with --out"));
    }
    let (pair, request) = request(&arguments.names)?;
    run_with_runtime(async {
        let cluster = arguments.cluster.connect(ui).await?;
        let signed = sign(ui, cluster.client(), arguments, request).await?;
        // A signer may return something other than the requested certificate.
        let text = String::from_utf8(signed.certificate).context("the certificate is no text")?;
        let identity =
            kubewright_certificates::Identity::from_pem(&text, pair.serialize_pem(), None);
        identity.context("the signer gave a certificate that is not for this key")?;
        write(&key, &pair.serialize_pem(), Readers::Owner)?;
        write(&certificate, &text, Readers::Everyone)?;
        if arguments.output == Output::Json {
            ui.json(&json!({"request": signed.name, "certificate": certificate, "key": key}));
        } else {
            ui.line(certificate.display().to_string());
            ui.line(key.display().to_string());
        }
        Ok(())
    })
}

/// A new key, and the request for its certificate, as PEM text.
fn request(names: &[String]) -> Outcome<(KeyPair, String)> {
    let describe = || format!("cannot ask for a certificate for {}", names.join(", "));
    let pair = KeyPair::generate().with_context(describe)?;
    let mut params = CertificateParams::new(names).with_context(describe)?;
    // Signers read the common name, which TLS clients no longer do; it has room for 64 characters.
    if let Some(name) = names.first().filter(|name| name.len() <= 64) {
        params.distinguished_name.push(DnType::CommonName, name);
    }
    let request = params.serialize_request(&pair).with_context(describe)?;
    let request = request.pem().with_context(describe)?;
    Ok((pair, request))
}

/// What came of a request.
struct Signed {
    name: String,
    certificate: Vec<u8>,
}

/// Whether the API server is the one of `kubewright apiserver`, which no control plane is beside. It is built from no commit of
/// Kubernetes.
async fn is_embedded(client: &Client) -> Outcome<bool> {
    let version = client.apiserver_version().await;
    let version = version.context("cannot ask the API server for its version")?;
    Ok(version.git_commit.is_empty())
}

async fn sign(ui: &Ui, client: &Client, arguments: &Arguments, request: String) -> Outcome<Signed> {
    let api: Api<CertificateSigningRequest> = Api::all(client.clone());
    let signer = arguments.signer.clone().unwrap_or_default();
    if is_embedded(client).await? {
        if signer.starts_with("kubernetes.io/") {
            return Err(Failure::new(format!(
                "the embedded API server has no signer {signer}: kube-controller-manager is that one"
            ))
            .hint("make a certificate here with `kubewright certs`, or use a cluster with a control plane"));
        }
        ui.note(format!(
            "the embedded API server signs nothing itself: run a signer {signer}, or make a certificate with `kubewright certs`"
        ));
    }
    let usages = ["digital signature", "key encipherment", "server auth"];
    let asked = CertificateSigningRequest {
        metadata: ObjectMeta {
            generate_name: Some("kubewright-".to_owned()),
            ..ObjectMeta::default()
        },
        spec: CertificateSigningRequestSpec {
            request: ByteString(request.into_bytes()),
            signer_name: signer.clone(),
            usages: Some(usages.map(str::to_owned).to_vec()),
            ..CertificateSigningRequestSpec::default()
        },
        ..CertificateSigningRequest::default()
    };
    let made = api.create(&PostParams::default(), &asked).await;
    let made = made.context("the API server refused the request for a certificate")?;
    let name = made.metadata.name.unwrap_or_default();
    if arguments.approve {
        let condition = json!({
            "type": "Approved",
            "status": "True",
            "reason": "Kubewright",
            "message": "approved by `kubewright certs csr --approve`",
        });
        let patch = Patch::Merge(json!({"status": {"conditions": [condition]}}));
        let approved = api
            .patch_approval(&name, &PatchParams::default(), &patch)
            .await;
        approved.with_context(|| format!("cannot approve the request {name}"))?;
    } else {
        ui.note(format!(
            "approve it with `kubectl certificate approve {name}`"
        ));
    }

    let step = ui.step(&format!("waiting for {signer} to sign {name}"));
    let deadline = Instant::now() + Duration::from_secs(arguments.timeout);
    loop {
        let now = api.get(&name).await;
        let status = now
            .with_context(|| format!("cannot read the request {name}"))?
            .status;
        let status = status.unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let refused = conditions
            .iter()
            .find(|one| matches!(one.type_.as_str(), "Denied" | "Failed"));
        if let Some(refused) = refused {
            let why = refused.message.as_deref().unwrap_or("no reason is given");
            let how = refused.type_.to_lowercase();
            return Err(Failure::new(format!("the request {name} was {how}: {why}")));
        }
        if let Some(certificate) = status
            .certificate
            .filter(|certificate| !certificate.0.is_empty())
        {
            step.done(&format!("{signer} has signed"));
            let certificate = certificate.0;
            return Ok(Signed { name, certificate });
        }
        if Instant::now() >= deadline {
            let is_approved = conditions.iter().any(|one| one.type_ == "Approved");
            let seconds = arguments.timeout;
            return Err(if is_approved {
                Failure::new(format!("{name} is approved, but {signer} has not signed it within {seconds} s"))
                    .hint(
                        "see that a signer by that name runs in the cluster: an API server signs nothing itself, \
                         kube-controller-manager only by names that begin with kubernetes.io/, and the embedded server has none",
                    )
            } else {
                Failure::new(format!(
                    "waiting for the approval of {name}: not approved within {seconds} s"
                ))
                .hint("pass --approve, or have it approved with kubectl certificate approve")
            });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Signers answer within a second or not at all.
const PAUSE: Duration = Duration::from_millis(200);
