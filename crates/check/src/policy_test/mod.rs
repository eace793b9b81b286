//! Table tests of admission policies, match conditions and the rules of definitions.

mod coverage;
mod expectation;
mod file;
mod kyverno;
mod run;

pub use coverage::Condition;
pub use file::{Expected, Operation, PolicyTest, Subject, Test, User};
pub use run::{Outcome, Report, Verdict, run};

use std::path::{Path, PathBuf};

use crate::source::{Source, Unreadable};

/// The API version of a file of tests.
pub const API_VERSION: &str = "test.kubewright.dev/v1alpha1";

/// Reads the tests of a file or a folder.
///
/// A folder is searched for files that have a `PolicyTest` or a `Test` of Kyverno's; other files are left out.
#[must_use]
pub fn find(path: &Path) -> (Vec<PolicyTest>, Vec<Unreadable>) {
    let (files, mut unreadable) = crate::source::files(path);
    let is_named = |file: &Path| file == path;
    let mut tests = Vec::new();
    for file in files {
        let source = match Source::read(&file) {
            Ok(source) => source,
            Err(why) => {
                unreadable.push(why);
                continue;
            }
        };
        match read(&file, &source) {
            Ok(found) if found.is_empty() && is_named(&file) => unreadable.push(Unreadable {
                name: source.name,
                why: format!(
                    "it has no PolicyTest of {API_VERSION}, and no Test of cli.kyverno.io"
                ),
            }),
            Ok(found) => tests.extend(found),
            Err(why) => unreadable.push(Unreadable {
                name: source.name,
                why,
            }),
        }
    }
    (tests, unreadable)
}

fn read(path: &Path, source: &Source) -> Result<Vec<PolicyTest>, String> {
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let mut tests = Vec::new();
    let (manifests, others) = crate::manifest::read(0, source);
    if let Some(other) = others.first()
        && source.text.contains("kind: PolicyTest")
    {
        return Err(other.why.clone());
    }
    for manifest in manifests {
        let test = match (manifest.api_version(), manifest.kind()) {
            (API_VERSION, "PolicyTest") => PolicyTest::from_object(manifest.object),
            (version, "Test") if version.starts_with("cli.kyverno.io/") => {
                kyverno::test(&folder, &manifest.object)
            }
            _ => continue,
        };
        let mut test = test?;
        path.clone_into(&mut test.path);
        tests.push(test);
    }
    Ok(tests)
}

/// The path that a file of tests names, from its own folder.
fn beside(file: &Path, named: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(named)
}
