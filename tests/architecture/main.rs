//! Prints the figures of the repository's structure (`just house`), or the imports of a crate's import cycles (`just cycles CRATE`).

#![expect(
    clippy::print_stdout,
    reason = "printing the figures is what this program is for"
)]

fn main() {
    let text = match std::env::args().nth(1) {
        Some(name) => architecture::cycles::imports(&name),
        None => architecture::house::table(),
    };
    print!("{text}");
}
