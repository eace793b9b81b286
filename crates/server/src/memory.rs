//! How much memory this process may use: as its container, its own limits and the machine say.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Returns how much memory this process may use, in bytes, or `None` where the system does not say, which it does on Linux.
///
/// It is the smallest of the limits of its control group and of all groups around it (`memory.max`, or `memory.limit_in_bytes` of
/// version 1), of its own limits (`RLIMIT_AS`, `RLIMIT_DATA`), and of the machine's memory. It is read once.
///
/// ```
/// use kubewright_server::memory_limit;
///
/// /// Gives a cache a tenth of the memory, or 16 MiB where the limit is unknown.
/// fn cache_size() -> usize {
///     memory_limit().map_or(16 << 20, |bytes| bytes / 10)
/// }
///
/// assert_eq!(memory_limit().is_some(), cfg!(target_os = "linux"));
/// assert!(cache_size() > 0);
/// ```
#[must_use]
pub fn memory_limit() -> Option<usize> {
    static LIMIT: OnceLock<Option<usize>> = OnceLock::new();
    *LIMIT.get_or_init(|| limit_at(Path::new("/")))
}

fn limit_at(root: &Path) -> Option<usize> {
    let limits = [control_groups(root), own(root), machine(root)];
    let least = limits.into_iter().flatten().min()?;
    Some(usize::try_from(least).unwrap_or(usize::MAX))
}

/// A hierarchy of control groups, as it is mounted.
struct Mount {
    /// Which part of the hierarchy is mounted: all of it, or that of the container alone.
    part: PathBuf,
    at: PathBuf,
    is_version_2: bool,
}

fn control_groups(root: &Path) -> Option<u64> {
    let mounts = read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let groups = read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts: Vec<Mount> = mounts.lines().filter_map(Mount::read).collect();
    let limits = groups.lines().filter_map(|line| {
        // Such as `0::/kubepods/pod1`, and `5:memory,hugetlb:/kubepods/pod1` of version 1.
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        let is_version_2 = controllers.is_empty();
        if !is_version_2 && controllers.split(',').all(|name| name != "memory") {
            return None;
        }
        let mut fitting = mounts.iter();
        let mount = fitting.find(|mount| mount.is_version_2 == is_version_2)?;
        mount.least_limit(root, Path::new(group))
    });
    limits.min()
}

impl Mount {
    /// Reads a line such as `30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw`.
    fn read(line: &str) -> Option<Self> {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (part, at) = (fields.next()?, fields.next()?);
        let mut kind = kind.split(' ');
        let is_version_2 = match (kind.next()?, kind.nth(1)?) {
            ("cgroup2", _) => true,
            ("cgroup", options) if options.split(',').any(|name| name == "memory") => false,
            _ => return None,
        };
        Some(Self {
            part: part.into(),
            at: at.into(),
            is_version_2,
        })
    }

    /// The least limit of a group and of those around it, as far as they can be seen from here.
    fn least_limit(&self, root: &Path, group: &Path) -> Option<u64> {
        let file = if self.is_version_2 {
            "memory.max"
        } else {
            "memory.limit_in_bytes"
        };
        let top = root.join(self.at.strip_prefix("/").ok()?);
        let inside = group
            .strip_prefix(&self.part)
            .or_else(|_| group.strip_prefix("/"))
            .ok()?;
        let limits = inside.ancestors().filter_map(|group| {
            let limit = read_to_string(top.join(group).join(file)).ok()?;
            // Without a limit it says `max`.
            limit.trim().parse().ok()
        });
        limits.min()
    }
}

/// The soft limits of this process.
fn own(root: &Path) -> Option<u64> {
    let limits = read_to_string(root.join("proc/self/limits")).ok()?;
    let limits = limits.lines().filter_map(|line| {
        let limit = ["Max address space", "Max data size"]
            .into_iter()
            .find_map(|name| line.strip_prefix(name))?;
        // Without a limit it says `unlimited`.
        limit.split_whitespace().next()?.parse().ok()
    });
    limits.min()
}

fn machine(root: &Path) -> Option<u64> {
    let memory = read_to_string(root.join("proc/meminfo")).ok()?;
    let total = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = total.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    const VERSION_2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
    const VERSION_1: &str = "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

    /// What a system with these files says.
    fn limit(files: &[(&str, &str)]) -> Option<usize> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        limit_at(root.path())
    }

    #[test]
    fn the_least_limit_of_a_group_and_those_around_it_counts() {
        let group = |own, around| {
            limit(&[
                ("proc/self/mountinfo", VERSION_2),
                ("proc/self/cgroup", "0::/kubepods/pod1/a\n"),
                (
                    "proc/meminfo",
                    "MemTotal:       16777216 kB\nMemFree: 1 kB\n",
                ),
                ("sys/fs/cgroup/kubepods/pod1/a/memory.max", own),
                ("sys/fs/cgroup/kubepods/pod1/memory.max", around),
                ("sys/fs/cgroup/kubepods/memory.max", "max\n"),
            ])
        };
        assert_eq!(group("134217728\n", "268435456\n"), Some(128 * MIB));
        assert_eq!(group("max\n", "268435456\n"), Some(256 * MIB));
        assert_eq!(group("max\n", "max\n"), Some(16 * 1024 * MIB));
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_top() {
        let own = "30 23 0:26 /kubepods/pod1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
        for (mounts, group) in [(own, "0::/kubepods/pod1\n"), (VERSION_2, "0::/\n")] {
            let files = [
                ("proc/self/mountinfo", mounts),
                ("proc/self/cgroup", group),
                ("sys/fs/cgroup/memory.max", "134217728\n"),
            ];
            assert_eq!(limit(&files), Some(128 * MIB), "{group}");
        }
    }

    #[test]
    fn groups_of_version_1_and_the_limits_of_the_process_count() {
        let groups = [
            ("proc/self/mountinfo", VERSION_1),
            ("proc/self/cgroup", "5:memory:/pods/a\n4:cpu:/pods/b\n"),
            (
                "sys/fs/cgroup/memory/pods/a/memory.limit_in_bytes",
                "134217728\n",
            ),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
        ];
        assert_eq!(limit(&groups), Some(128 * MIB));
        let own = "Limit                     Soft Limit           Hard Limit           Units\n\
                   Max data size             unlimited            unlimited            bytes\n\
                   Max address space         67108864             unlimited            bytes\n";
        assert_eq!(limit(&[("proc/self/limits", own)]), Some(64 * MIB));
        let both = [&groups[..], &[("proc/self/limits", own)]].concat();
        assert_eq!(limit(&both), Some(64 * MIB));
    }

    #[test]
    fn a_system_that_says_nothing_sets_no_limit() {
        assert_eq!(limit(&[]), None);
        assert_eq!(limit(&[("proc/meminfo", "nonsense")]), None);
    }
}
