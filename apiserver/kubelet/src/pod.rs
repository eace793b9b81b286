//! One pod: its containers in their order, started again as its restart policy says.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use futures::future::{join, join_all};
use jiff::Timestamp;
use kubewright_apimachinery::time::seconds;
use parking_lot::Mutex;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Duration, sleep};

use crate::arguments::{expanded, placed};
use crate::attempt::{self, Change};
use crate::container::Container;
use crate::environment::environment;
use crate::images::Images;
use crate::kubeconfig;
use crate::log::Log;
use crate::objects::Objects;
use crate::program::Program;
use crate::states::{ContainerState, ContainerStatus, Terminated};
use crate::volumes::Volumes;

/// A pod whose containers have programs.
pub struct Pod {
    address: IpAddr,
    listens_on: IpAddr,
    containers: Mutex<BTreeMap<String, Tracked>>,
    changed: Box<dyn Fn() + Send + Sync>,
    stopped: watch::Sender<bool>,
    ended: watch::Sender<bool>,
    task: Mutex<Option<AbortHandle>>,
}

/// A container and its logs.
#[derive(Debug, Default)]
struct Tracked {
    status: ContainerStatus,
    log: Log,
    previous: Option<Log>,
}

/// What the containers of a pod have in common.
struct Setting {
    object: Value,
    images: Images,
    objects: Arc<dyn Objects>,
    volumes: Volumes,
    directory: TempDir,
}

/// A container of a pod that has a program.
struct Planned<'a> {
    name: &'a str,
    spec: &'a Value,
    program: &'a Program,
    policy: &'a str,
}

impl Pod {
    pub(crate) fn start(
        object: &Value,
        address: IpAddr,
        listens_on: IpAddr,
        images: &Images,
        objects: Arc<dyn Objects>,
        changed: impl Fn() + Send + Sync + 'static,
    ) -> Arc<Self> {
        let mut containers = BTreeMap::new();
        for list in ["initContainers", "containers"] {
            for Planned { name, .. } in planned(object, images, list) {
                containers.insert(name.to_owned(), Tracked::default());
            }
        }
        let pod = Arc::new(Self {
            address,
            listens_on,
            containers: Mutex::new(containers),
            changed: Box::new(changed),
            stopped: watch::Sender::new(false),
            ended: watch::Sender::new(false),
            task: Mutex::default(),
        });
        let run = pod.clone().run(object.clone(), images.clone(), objects);
        let task = tokio::spawn(run).abort_handle();
        *pod.task.lock() = Some(task);
        pod
    }

    /// The address of the pod in its status.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The address on which its programs listen.
    pub fn listens_on(&self) -> IpAddr {
        self.listens_on
    }

    /// The state of a container that has a program.
    pub fn status(&self, container: &str) -> Option<ContainerStatus> {
        let containers = self.containers.lock();
        Some(containers.get(container)?.status.clone())
    }

    /// The log of a container's run, or of the one before.
    pub fn log(&self, container: &str, previous: bool) -> Option<Log> {
        let containers = self.containers.lock();
        let tracked = containers.get(container)?;
        if previous {
            tracked.previous.clone()
        } else {
            Some(tracked.log.clone())
        }
    }

    /// Asks the programs to end.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Whether no program runs any more, and none will.
    pub fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Ends the programs at once.
    pub(crate) fn kill(&self) {
        self.stop();
        if let Some(task) = self.task.lock().take() {
            task.abort();
        }
        for tracked in self.containers.lock().values() {
            tracked.log.close();
        }
    }

    async fn run(self: Arc<Self>, object: Value, images: Images, objects: Arc<dyn Objects>) {
        let prepared = self.prepare(object, images, objects).await;
        if let Some(setting) = prepared {
            self.run_containers(&setting).await;
        }
        self.ended.send_replace(true);
        (self.changed)();
    }

    /// Writes the volumes; tries again for as long as what they refer to is not there.
    async fn prepare(
        &self,
        object: Value,
        images: Images,
        objects: Arc<dyn Objects>,
    ) -> Option<Setting> {
        const AGAIN: Duration = Duration::from_millis(500);
        loop {
            let written = self.write(&object, &*objects).await;
            let why = match written {
                Ok((directory, volumes)) => {
                    return Some(Setting {
                        object,
                        images,
                        objects,
                        volumes,
                        directory,
                    });
                }
                Err(why) => why,
            };
            let names: Vec<String> = self.containers.lock().keys().cloned().collect();
            for name in names {
                self.wait(&name, "ContainerCreating", &why);
            }
            let mut stopped = self.stopped.subscribe();
            tokio::select! {
                () = sleep(AGAIN) => {}
                _ = stopped.wait_for(|stopped| *stopped) => return None,
            }
        }
    }

    async fn write(
        &self,
        object: &Value,
        objects: &dyn Objects,
    ) -> Result<(TempDir, Volumes), String> {
        if !cfg!(target_os = "linux") {
            return Err(
                "containers run on Linux only, where every pod has an address of the loopback network"
                    .to_owned(),
            );
        }
        let directory = TempDir::with_prefix("kubewright-pod-");
        let directory = directory.map_err(|error| format!("no directory for volumes: {error}"))?;
        let volumes = Volumes::write(objects, object, self.listens_on, directory.path()).await?;
        Ok((directory, volumes))
    }

    async fn run_containers(&self, setting: &Setting) {
        let mut sidecars = Vec::new();
        for planned in planned(&setting.object, &setting.images, "initContainers") {
            if planned.policy == "Always" {
                sidecars.push(planned);
            } else if !self.keep(setting, &planned).await {
                return;
            }
        }
        let own = planned(&setting.object, &setting.images, "containers");
        let own = join_all(own.iter().map(|planned| self.keep(setting, planned)));
        let beside = join_all(sidecars.iter().map(|planned| self.keep(setting, planned)));
        let own = async {
            own.await;
            // Sidecars end after the containers.
            self.stop();
        };
        join(own, beside).await;
    }

    /// Runs a container for as long as the restart policy says, and returns whether it has succeeded.
    async fn keep(&self, setting: &Setting, planned: &Planned<'_>) -> bool {
        /// As of a real kubelet: the first restart is at once, and each one after it waits twice as long.
        const FIRST: Duration = Duration::from_secs(10);
        const LONGEST: Duration = Duration::from_mins(5);
        let mut pause = Duration::ZERO;
        loop {
            let code = self.run_once(setting, planned).await;
            let again = match planned.policy {
                "Always" => true,
                "OnFailure" => code != Some(0),
                _ => code.is_none(),
            };
            if *self.stopped.borrow() || !again {
                return code == Some(0);
            }
            if !pause.is_zero() {
                let why = format!(
                    "back-off {}s restarting failed container={}",
                    pause.as_secs(),
                    planned.name
                );
                self.back_off(planned.name, &why);
                let mut stopped = self.stopped.subscribe();
                tokio::select! {
                    () = sleep(pause) => {}
                    _ = stopped.wait_for(|stopped| *stopped) => return false,
                }
            }
            pause = (pause * 2).clamp(FIRST, LONGEST);
        }
    }

    /// Runs a container once, and returns its exit code; none if it could not be configured.
    async fn run_once(&self, setting: &Setting, planned: &Planned<'_>) -> Option<i32> {
        const AGAIN: Duration = Duration::from_millis(500);
        let (name, spec) = (planned.name, planned.spec);
        let container = match self.container(setting, name, spec).await {
            Ok(container) => container,
            Err(why) => {
                self.wait(name, "CreateContainerConfigError", &why);
                let mut stopped = self.stopped.subscribe();
                tokio::select! {
                    () = sleep(AGAIN) => {}
                    _ = stopped.wait_for(|stopped| *stopped) => {}
                }
                return None;
            }
        };
        let started = seconds(Timestamp::now());
        self.begin(name, &container, &started);
        let exit = attempt::run(planned.program, &container, spec, |change| {
            self.change(name, |tracked| match change {
                Change::Started => tracked.status.started = true,
                Change::Ready(ready) => tracked.status.ready = ready,
            });
        });
        let exit = exit.await;
        container.log.close();
        let (code, reason, message) = match exit {
            Ok(0) => (0, "Completed", String::new()),
            Ok(code) => (code, "Error", String::new()),
            Err(why) => (128, "StartError", why),
        };
        let terminated = Terminated {
            code,
            reason: reason.to_owned(),
            message,
            started,
            finished: seconds(Timestamp::now()),
        };
        self.change(name, |tracked| {
            tracked.status.ready = code == 0 && planned.policy != "Always";
            tracked.status.started = false;
            tracked.status.state = ContainerState::Terminated(terminated);
        });
        Some(code)
    }

    async fn container(
        &self,
        setting: &Setting,
        name: &str,
        spec: &Value,
    ) -> Result<Container, String> {
        let Setting {
            object,
            objects,
            volumes,
            directory,
            ..
        } = setting;
        let env = environment(&**objects, object, spec, self.listens_on)?;
        let mounts = volumes.mounts(spec);
        let words = |field: &str| -> Vec<String> {
            let words = spec[field].as_array().into_iter().flatten();
            words
                .filter_map(Value::as_str)
                .map(|word| expanded(word, &env))
                .collect()
        };
        let own = directory.path();
        let directory = match spec["workingDir"].as_str() {
            Some(path) if placed(path, &mounts) != path => placed(path, &mounts).into(),
            _ => Path::to_owned(own),
        };
        let mut container = Container {
            name: name.to_owned(),
            command: words("command"),
            args: words("args"),
            env,
            address: self.listens_on,
            mounts,
            directory,
            log: Log::default(),
            stopped: self.stopped.subscribe(),
        };
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let added = kubeconfig::add(&mut container, namespace, own).await;
        added.map_err(|error| format!("cannot write the kubeconfig of the container: {error}"))?;
        Ok(container)
    }

    fn begin(&self, name: &str, container: &Container, started: &str) {
        self.change(name, |tracked| {
            let status = &mut tracked.status;
            let last = status
                .state
                .terminated()
                .cloned()
                .or_else(|| status.last.take());
            if last.is_some() {
                status.restarts += 1;
                tracked.previous = Some(tracked.log.clone());
            }
            status.last = last;
            status.state = ContainerState::Running {
                since: started.to_owned(),
            };
            tracked.log = container.log.clone();
        });
    }

    fn back_off(&self, name: &str, why: &str) {
        self.change(name, |tracked| {
            let status = &mut tracked.status;
            if let Some(terminated) = status.state.terminated() {
                status.last = Some(terminated.clone());
            }
            status.ready = false;
        });
        self.wait(name, "CrashLoopBackOff", why);
    }

    fn wait(&self, name: &str, reason: &str, message: &str) {
        self.change(name, |tracked| {
            tracked.status.state = ContainerState::Waiting {
                reason: reason.to_owned(),
                message: message.to_owned(),
            };
        });
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Tracked)) {
        let is_new = {
            let mut containers = self.containers.lock();
            let Some(tracked) = containers.get_mut(name) else {
                return;
            };
            let before = tracked.status.clone();
            change(tracked);
            before != tracked.status
        };
        if is_new {
            (self.changed)();
        }
    }
}

impl std::fmt::Debug for Pod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pod")
            .field("address", &self.address)
            .field("containers", &self.containers)
            .finish_non_exhaustive()
    }
}

/// The containers of a list that have programs.
fn planned<'a>(object: &'a Value, images: &'a Images, list: &str) -> Vec<Planned<'a>> {
    let policy = object["spec"]["restartPolicy"].as_str().unwrap_or("Always");
    let containers = object["spec"][list].as_array().into_iter().flatten();
    containers
        .filter_map(|spec| {
            let own = spec["restartPolicy"].as_str();
            let of_pod = match (list, policy) {
                // What comes before the containers is done once it has succeeded.
                ("initContainers", "Always") => "OnFailure",
                (_, policy) => policy,
            };
            Some(Planned {
                name: spec["name"].as_str()?,
                spec,
                program: images.find(spec["image"].as_str().unwrap_or_default())?,
                policy: own.unwrap_or(of_pod),
            })
        })
        .collect()
}
