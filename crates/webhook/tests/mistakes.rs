//! The mistakes that people make, and what the compiler tells them.

#[test]
fn the_compiler_explains_mistakes() {
    trybuild::TestCases::new().compile_fail("tests/compile/*.rs");
}
