//! What the operating system says of the process, as Prometheus' clients report it on Linux.

use super::text::Text;

/// Appends the metrics; nothing where there is no `/proc`.
pub(super) fn write(text: &mut Text) {
    let Some(process) = Process::read() else {
        return;
    };
    for (name, kind, help, value) in [
        (
            "process_cpu_seconds_total",
            "counter",
            "Total user and system CPU time spent in seconds.",
            process.cpu_seconds,
        ),
        (
            "process_open_fds",
            "gauge",
            "Number of open file descriptors.",
            process.open_files,
        ),
        (
            "process_resident_memory_bytes",
            "gauge",
            "Resident memory size in bytes.",
            process.resident,
        ),
        (
            "process_start_time_seconds",
            "gauge",
            "Start time of the process since unix epoch in seconds.",
            process.started,
        ),
        (
            "process_virtual_memory_bytes",
            "gauge",
            "Virtual memory size in bytes.",
            process.virtual_memory,
        ),
    ] {
        text.family(name, kind, help);
        text.value(name, &[], value);
    }
}

struct Process {
    cpu_seconds: f64,
    open_files: f64,
    resident: f64,
    started: f64,
    virtual_memory: f64,
}

impl Process {
    fn read() -> Option<Self> {
        /// The kernel counts time for its readers a hundred times a second on every platform.
        const TICKS: f64 = 100.0;
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The name of the program is in parentheses, and may contain any.
        let (_, stat) = stat.rsplit_once(')')?;
        let fields: Vec<f64> = stat
            .split_whitespace()
            .map(|field| field.parse().unwrap_or_default())
            .collect();
        let field = |number: usize| fields.get(number - 3).copied();
        let memory = std::fs::read_to_string("/proc/self/status").ok()?;
        let kibibytes = |name: &str| {
            let line = memory.lines().find_map(|line| line.strip_prefix(name))?;
            let number: f64 = line.trim_end_matches("kB").trim().parse().ok()?;
            Some(number * 1024.0)
        };
        let system = std::fs::read_to_string("/proc/stat").ok()?;
        let booted = system
            .lines()
            .find_map(|line| line.strip_prefix("btime "))?;
        let booted: f64 = booted.trim().parse().ok()?;
        let open_files = std::fs::read_dir("/proc/self/fd").ok()?.count();
        Some(Self {
            cpu_seconds: (field(14)? + field(15)?) / TICKS,
            #[expect(
                clippy::cast_precision_loss,
                reason = "a process has fewer open files than that"
            )]
            open_files: open_files as f64,
            resident: kibibytes("VmRSS:")?,
            started: booted + field(22)? / TICKS,
            virtual_memory: kibibytes("VmSize:")?,
        })
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_has_memory_and_files_and_a_start() {
        let process = Process::read().unwrap();
        assert!(process.resident > 0.0 && process.virtual_memory >= process.resident);
        assert!(process.open_files >= 3.0);
        // After the year 2020.
        assert!(process.started > 1_577_836_800.0);
    }
}
