//! What the process takes of its machine, by the names that Prometheus' own libraries give it.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Reads `/proc` at each scrape. On a system without `/proc` it exports no metrics.
#[derive(Debug)]
pub(crate) struct Usage;

impl Collector for Usage {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (seconds, bytes) = (Unit::Seconds, Unit::Bytes);
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        if let Some(used) = cpu_seconds(&stat) {
            let metric = encoder.encode_descriptor(
                "process_cpu",
                "Total user and system CPU time",
                Some(&seconds),
                MetricType::Counter,
            )?;
            ConstCounter::new(used).encode(metric)?;
        }
        let machine = fs::read_to_string("/proc/stat").unwrap_or_default();
        if let Some(start) = start_time(&stat, &machine) {
            let metric = encoder.encode_descriptor(
                "process_start_time",
                "Start time of the process, as a Unix timestamp",
                Some(&seconds),
                MetricType::Gauge,
            )?;
            ConstGauge::new(start).encode(metric)?;
        }
        for (name, help, field) in [
            ("process_resident_memory", "Resident memory size", "VmRSS:"),
            ("process_virtual_memory", "Virtual memory size", "VmSize:"),
        ] {
            if let Some(size) = size(&status, field) {
                let metric =
                    encoder.encode_descriptor(name, help, Some(&bytes), MetricType::Gauge)?;
                ConstGauge::new(size).encode(metric)?;
            }
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            let metric = encoder.encode_descriptor(
                "process_open_fds",
                "Number of open file descriptors",
                None,
                MetricType::Gauge,
            )?;
            ConstGauge::new(i64::try_from(open.count()).unwrap_or(i64::MAX)).encode(metric)?;
        }
        Ok(())
    }
}

/// The fields of `/proc/self/stat` after the name of the program, which may hold anything.
fn fields(stat: &str) -> Option<Vec<&str>> {
    let (_, rest) = stat.rsplit_once(") ")?;
    Some(rest.split_ascii_whitespace().collect())
}

fn ticks(stat: &str, number: usize) -> Option<f64> {
    fields(stat)?.get(number)?.parse().ok()
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    Some((ticks(stat, 11)? + ticks(stat, 12)?) / TICKS_PER_SECOND)
}

fn start_time(stat: &str, machine: &str) -> Option<f64> {
    let boot = machine
        .lines()
        .find_map(|line| line.strip_prefix("btime "))?;
    let boot: f64 = boot.trim().parse().ok()?;
    Some(boot + ticks(stat, 19)? / TICKS_PER_SECOND)
}

fn size(status: &str, field: &str) -> Option<i64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: i64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Linux tells programs of a hundred ticks in a second, whatever it counts itself.
const TICKS_PER_SECOND: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_system_are_read_whatever_the_program_is_called() {
        let stat = "7 (a) b ) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 1 0 1000 1 1";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(
            start_time(stat, "cpu 1\nbtime 1700000000\n"),
            Some(1_700_000_010.0)
        );
        assert_eq!(
            size("Name:\ta\nVmRSS:\t    12 kB\n", "VmRSS:"),
            Some(12 * 1024)
        );
        assert_eq!(
            (cpu_seconds(""), start_time("", ""), size("", "VmRSS:")),
            (None, None, None)
        );
    }
}
