//! The text format of Prometheus.

use std::fmt::Write as _;

use kubewright_apimachinery::go_text::format_double;

use super::histogram::Histogram;

/// Metrics as text, family by family.
#[derive(Debug, Default)]
pub(super) struct Text(String);

/// The labels of a series, in the order of their names.
pub(super) type Labels<'a> = [(&'a str, &'a str)];

impl Text {
    /// Begins the metrics of one name.
    pub(super) fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub(super) fn value(&mut self, name: &str, labels: &Labels<'_>, value: f64) {
        self.0.push_str(name);
        self.labels(labels, None);
        let _ = writeln!(self.0, " {}", format_double(value));
    }

    pub(super) fn count(&mut self, name: &str, labels: &Labels<'_>, count: u64) {
        self.0.push_str(name);
        self.labels(labels, None);
        let _ = writeln!(self.0, " {count}");
    }

    pub(super) fn histogram(&mut self, name: &str, labels: &Labels<'_>, histogram: &Histogram) {
        let (buckets, all) = histogram.buckets();
        for (bound, count) in buckets {
            let _ = write!(self.0, "{name}_bucket");
            self.labels(labels, Some(&format_double(bound)));
            let _ = writeln!(self.0, " {count}");
        }
        let _ = write!(self.0, "{name}_bucket");
        self.labels(labels, Some("+Inf"));
        let _ = writeln!(self.0, " {all}");
        self.value(&format!("{name}_sum"), labels, histogram.sum());
        self.count(&format!("{name}_count"), labels, all);
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }

    fn labels(&mut self, labels: &Labels<'_>, up_to: Option<&str>) {
        let up_to = up_to.map(|bound| ("le", bound));
        let mut before = '{';
        for (name, value) in labels.iter().copied().chain(up_to) {
            self.0.push(before);
            let _ = write!(self.0, "{name}=\"");
            for letter in value.chars() {
                match letter {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    letter => self.0.push(letter),
                }
            }
            self.0.push('"');
            before = ',';
        }
        if before == ',' {
            self.0.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_written_as_prometheus_reads_it() {
        let histogram = Histogram::of_bytes(&[1000.0, 1e6]);
        histogram.observe(2000.0);
        let mut text = Text::default();
        text.family("a_total", "counter", "Number of a.");
        text.count("a_total", &[("kind", "x\"y\\z\n")], 3);
        text.count("b", &[], 1);
        text.histogram("sizes", &[("verb", "GET")], &histogram);
        assert_eq!(
            text.into_string(),
            "# HELP a_total Number of a.\n# TYPE a_total counter\n\
             a_total{kind=\"x\\\"y\\\\z\\n\"} 3\n\
             b 1\n\
             sizes_bucket{verb=\"GET\",le=\"1000\"} 0\n\
             sizes_bucket{verb=\"GET\",le=\"1e+06\"} 1\n\
             sizes_bucket{verb=\"GET\",le=\"+Inf\"} 1\n\
             sizes_sum{verb=\"GET\"} 2000\n\
             sizes_count{verb=\"GET\"} 1\n"
        );
    }
}
