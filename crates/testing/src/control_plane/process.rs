//! The control plane that the tests of a process share.

use tokio::sync::OnceCell;

use super::{ControlPlane, ControlPlaneError};

/// The kubeconfig of the process's control plane, which is started by whoever asks first and ends with the process.
pub(crate) async fn shared_kubeconfig() -> Result<String, ControlPlaneError> {
    let shared = SHARED.get_or_try_init(ControlPlane::start).await?;
    Ok(shared.kubeconfig())
}

static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
