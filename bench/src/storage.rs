//! How many objects a store creates in a second, by where it keeps them and how many clients write at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use anyhow::Result;
use kubewright_etcd::{EtcdBackend, EtcdOptions, LocalEtcd};
use kubewright_storage::{Draft, FileBackend, Limits, Store};
use serde_json::json;
use tokio::time::Instant;

const WRITERS: [usize; 4] = [1, 4, 16, 64];
const FOR: Duration = Duration::from_secs(3);

/// Measures a store in memory, in a file, and in etcd, if there is one.
pub(crate) fn run() -> Result<()> {
    measure("memory", &Arc::new(Store::new(Limits::default())))?;
    let folder = tempfile::tempdir()?;
    let file = FileBackend::open(folder.path().join("objects.redb"))?;
    measure("file", &Arc::new(Store::open(file)?))?;
    let Some(etcd) = LocalEtcd::start() else {
        println!("there is no etcd: set KUBEBUILDER_ASSETS, or run tests/kube-apiserver/build");
        return Ok(());
    };
    let backend = EtcdBackend::connect(EtcdOptions::new([etcd.url()]))?;
    let store = Arc::new(Store::open_shared(backend)?);
    measure("etcd", &store)
}

fn measure(name: &str, store: &Arc<Store>) -> Result<()> {
    for writers in WRITERS {
        let count = AtomicUsize::new(0);
        let begin = Instant::now();
        let end = begin + FOR;
        let outcomes = thread::scope(|scope| {
            let count = &count;
            let write = move |writer: usize| {
                let mut number = 0;
                while Instant::now() < end {
                    let name = format!("{writers}-{writer}-{number}");
                    let object = json!({
                        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
                        "data": {"value": "x".repeat(500)},
                    });
                    store.create(
                        "configmaps",
                        &format!("default/{name}"),
                        Draft::new(&object),
                    )?;
                    number += 1;
                }
                count.fetch_add(number, Ordering::Relaxed);
                anyhow::Ok(())
            };
            let all: Vec<_> = (0..writers)
                .map(|writer| scope.spawn(move || write(writer)))
                .collect();
            let outcomes = all.into_iter().map(ScopedJoinHandle::join);
            outcomes.collect::<Vec<_>>()
        });
        for outcome in outcomes {
            outcome.map_err(|_| anyhow::anyhow!("a writer panicked"))??;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "the numbers of objects are small"
        )]
        let rate = count.into_inner() as f64 / (Instant::now() - begin).as_secs_f64();
        println!("{name}: {writers} clients create {rate:.0} objects a second");
    }
    Ok(())
}
