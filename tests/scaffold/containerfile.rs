//! The instructions of a Containerfile, each on one line, as those of projects and samples are.

use std::path::{Path, PathBuf};

/// An instruction, such as `USER` with its arguments `65532:65532`.
pub(crate) struct Instruction<'a> {
    pub(crate) keyword: &'a str,
    pub(crate) arguments: &'a str,
}

/// A `COPY`: the stage or context that it takes from, if not the one of the build, the paths in it and the path in the image.
pub(crate) struct Copy<'a> {
    pub(crate) from: Option<&'a str>,
    pub(crate) paths: Vec<&'a str>,
    pub(crate) to: &'a str,
}

impl<'a> Instruction<'a> {
    pub(crate) fn copy(&self) -> Option<Copy<'a>> {
        let words = (self.keyword == "COPY").then(|| self.arguments.split(' '))?;
        let (options, mut paths): (Vec<&str>, Vec<&str>) =
            words.partition(|word| word.starts_with("--"));
        let to = paths.pop().expect("a path in the image");
        let from = options.first().map(|option| {
            let from = option.strip_prefix("--from=");
            from.expect("the only option here is --from")
        });
        Some(Copy { from, paths, to })
    }
}

impl<'a> Copy<'a> {
    /// The paths in the context of the build with those in the working directory, none if it takes from elsewhere.
    pub(crate) fn of_context(self) -> Vec<(&'a str, PathBuf)> {
        if self.from.is_some() {
            return Vec::new();
        }
        let to = Path::new(self.to);
        assert!(to.is_relative(), "{} is in the working directory", self.to);
        let place = |path| match self.to.strip_suffix('/') {
            Some(folder) => (path, Path::new(folder).join(path)),
            None => (path, to.to_owned()),
        };
        self.paths.into_iter().map(place).collect()
    }
}

/// The instructions of a file, without its comments.
pub(crate) fn instructions(text: &str) -> Vec<Instruction<'_>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let parts = lines.filter_map(|line| line.split_once(' '));
    parts
        .map(|(keyword, arguments)| Instruction { keyword, arguments })
        .collect()
}

/// The stages of an image, each from its `FROM` on. What was declared before the first is part of it.
pub(crate) fn stages(text: &str) -> Vec<Vec<Instruction<'_>>> {
    let mut stages: Vec<Vec<Instruction<'_>>> = Vec::new();
    for instruction in instructions(text) {
        match stages.last_mut() {
            Some(stage) if instruction.keyword != "FROM" => stage.push(instruction),
            _ => stages.push(vec![instruction]),
        }
    }
    stages
}
