//! How long the two steps of admission take.

use kubewright_admission::Operation;
use tokio::time::Duration;

use super::histogram::Histogram;
use super::text::Text;

const NAME: &str = "apiserver_admission_step_admission_duration_seconds";
const SECONDS: [f64; 6] = [0.005, 0.025, 0.1, 0.5, 1.0, 2.5];
const OPERATIONS: [&str; 4] = ["CONNECT", "CREATE", "DELETE", "UPDATE"];

/// A step of admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdmissionStep {
    Admit,
    Validate,
}

/// A distribution for each operation, outcome and step.
#[derive(Debug)]
pub(super) struct AdmissionDurations([[[Histogram; 2]; 2]; OPERATIONS.len()]);

impl Default for AdmissionDurations {
    fn default() -> Self {
        let two = || [(); 2].map(|()| Histogram::of_seconds(&SECONDS));
        Self([(); OPERATIONS.len()].map(|()| [two(), two()]))
    }
}

impl AdmissionDurations {
    pub(super) fn observe(
        &self,
        operation: Operation,
        step: AdmissionStep,
        rejected: bool,
        took: Duration,
    ) {
        let operation = operation.as_str();
        let at = OPERATIONS.iter().position(|known| *known == operation);
        if let Some(of_operation) = at.and_then(|at| self.0.get(at)) {
            let of_outcome = &of_operation[usize::from(rejected)];
            of_outcome[usize::from(step == AdmissionStep::Validate)].observe(took.as_secs_f64());
        }
    }

    pub(super) fn write(&self, text: &mut Text) {
        text.family(
            NAME,
            "histogram",
            "[STABLE] Admission sub-step latency histogram in seconds, broken out for each operation and API resource and step type (validate or admit).",
        );
        for (operation, of_operation) in OPERATIONS.iter().zip(&self.0) {
            for (rejected, of_outcome) in ["false", "true"].into_iter().zip(of_operation) {
                for (step, histogram) in ["admit", "validate"].into_iter().zip(of_outcome) {
                    let labels = [
                        ("operation", *operation),
                        ("rejected", rejected),
                        ("type", step),
                    ];
                    if histogram.buckets().1 > 0 {
                        text.histogram(NAME, &labels, histogram);
                    }
                }
            }
        }
    }
}
