//! Which images have a program.

use crate::program::Program;

/// The programs that run in place of containers, by the image of the container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Images(Vec<(String, Program)>);

impl Images {
    /// Gives a program for an image; a name that ends with `*` is that of every image that begins so. Of several that fit,
    /// the last one counts.
    pub fn add(&mut self, image: impl Into<String>, program: Program) {
        self.0.push((image.into(), program));
    }

    /// The program for an image.
    pub fn find(&self, image: &str) -> Option<&Program> {
        let mut programs = self.0.iter().rev();
        programs
            .find(|(pattern, _)| fits(pattern, image))
            .map(|(_, program)| program)
    }

    /// Whether no image has a program.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether an image is the one of a pattern; a pattern that ends with `*` is every image that begins so.
pub(crate) fn fits(pattern: &str, image: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => image.starts_with(prefix),
        None => image == pattern,
    }
}
