//! The seed corpus of the fuzz targets, run by the ordinary tests.

use crate::fuzz;

fn every(target: &str, check: fn(&[u8])) {
    let corpus = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        let data = std::fs::read(&path).unwrap();
        check(&data);
        // Every prefix is a body that broke off.
        for length in (0..data.len()).step_by(data.len() / 10 + 1) {
            check(&data[..length]);
        }
        count += 1;
    }
    assert!(count >= 10, "the corpus has {count} files");
}

#[test]
fn the_decode_corpus_passes() {
    every("decode", fuzz::decode);
}

#[test]
fn the_graft_corpus_passes() {
    every("graft", fuzz::graft);
}
