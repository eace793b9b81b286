//! Starts a real control plane, prints its kubeconfig, and holds it until standard input ends or it is killed:
//!
//! ```console
//! cargo run -p kubewright-testing --features real > kubeconfig
//! ```

use std::error::Error;
use std::io::{Write as _, stdin, stdout};

use kubewright_testing::ControlPlane;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let control_plane = ControlPlane::start().await?;
    let (folder, kubeconfig) = (control_plane.folder(), control_plane.kubeconfig());
    writeln!(stdout(), "{kubeconfig}# {}", folder.display())?;
    stdout().flush()?;
    std::io::copy(&mut stdin(), &mut std::io::sink())?;
    control_plane.stop();
    Ok(())
}
