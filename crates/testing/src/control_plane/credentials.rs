//! The certificates and keys of a control plane, each made for it alone.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apiserver::sec1;
use kubewright_certificates::{Authority, CertificateError, Issued};

/// Who the servers and the admin of a control plane are.
pub(super) struct Credentials {
    authority: Authority,
    server: Issued,
    admin: Issued,
    service_accounts: Authority,
    /// What aggregated API servers know the server by.
    front_proxy: Authority,
    proxy_client: Issued,
}

/// What a client needs to be the admin of a control plane.
pub(super) struct Access {
    pub(super) url: String,
    pub(super) ca: String,
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Credentials {
    pub(super) fn new() -> Result<Self, CertificateError> {
        let authority = Authority::living_for("kubewright test control plane", LIFETIME)?;
        let front_proxy = Authority::living_for("front proxy", LIFETIME)?;
        Ok(Self {
            proxy_client: front_proxy.sign_client(PROXY_CLIENT, "front-proxy", LIFETIME)?,
            front_proxy,
            server: authority.sign_server(SERVER_NAMES, LIFETIME)?,
            admin: authority.sign_client("kubernetes-admin", "system:masters", LIFETIME)?,
            service_accounts: Authority::living_for("service accounts", LIFETIME)?,
            authority,
        })
    }

    /// Writes the files that [`Self::flags`] names.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        for (name, text) in [
            ("ca.crt", self.authority.certificate_pem()),
            ("tls.crt", self.server.certificate_pem()),
            ("tls.key", self.server.key_pem()),
            // A certificate is one of the forms in which kube-apiserver reads a public key.
            ("sa.crt", self.service_accounts.certificate_pem()),
            ("sa.key", self.service_accounts.key_pem()),
            ("front-proxy-ca.crt", self.front_proxy.certificate_pem()),
            ("front-proxy.crt", self.proxy_client.certificate_pem()),
            ("front-proxy.key", self.proxy_client.key_pem()),
        ] {
            fs::write(folder.join(name), text)?;
        }
        Ok(())
    }

    /// The flags of a kube-apiserver whose working directory has the files.
    pub(super) const FLAGS: [&str; 13] = [
        "--client-ca-file=ca.crt",
        "--tls-cert-file=tls.crt",
        "--tls-private-key-file=tls.key",
        "--service-account-key-file=sa.crt",
        "--service-account-signing-key-file=sa.key",
        "--requestheader-client-ca-file=front-proxy-ca.crt",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-uid-headers=X-Remote-Uid",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--proxy-client-cert-file=front-proxy.crt",
        "--proxy-client-key-file=front-proxy.key",
    ];

    pub(super) fn access(&self, url: String) -> Access {
        Access {
            url,
            ca: self.authority.certificate_pem(),
            certificate: self.admin.certificate_pem(),
            // Some Java clients cannot read the PKCS#8 form of a kubeconfig's key.
            key: sec1::from_pkcs8(&self.admin.key_pem()),
        }
    }
}

impl Access {
    /// A kubeconfig with everything inside it.
    pub(super) fn kubeconfig(&self) -> String {
        let [authority, certificate, key] =
            [&self.ca, &self.certificate, &self.key].map(|text| STANDARD.encode(text));
        let url = &self.url;
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             current-context: kubewright\n\
             clusters:\n\
             - name: kubewright\n  \
               cluster:\n    \
                 server: {url}\n    \
                 certificate-authority-data: {authority}\n\
             contexts:\n\
             - name: kubewright\n  \
               context:\n    \
                 cluster: kubewright\n    \
                 user: kubernetes-admin\n    \
                 namespace: default\n\
             users:\n\
             - name: kubernetes-admin\n  \
               user:\n    \
                 client-certificate-data: {certificate}\n    \
                 client-key-data: {key}\n"
        )
    }
}

/// The name in the certificate of the front proxy.
const PROXY_CLIENT: &str = "front-proxy-client";

/// The lifetime of the certificates: longer than any test runs.
const LIFETIME: Duration = Duration::from_hours(7 * 24);

/// The names under which clients reach the server, from outside and, by its Service, from inside.
const SERVER_NAMES: [&str; 7] = [
    "127.0.0.1",
    "localhost",
    "10.0.0.1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];
