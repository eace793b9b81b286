# The commands of a working day. `.ci/run` runs what must hold before a change lands.

default:
    @just --list

# The newcomer's first minute.
dev example="examples/annotate-pod":
    cargo run -- dev {{example}}

test *filter:
    cargo test --workspace {{filter}}

lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --features kubewright/testing

# The guide as a book with search, in target/book.
book:
    mdbook build

# Writes the generated tables anew; CI only checks that they are current.
generate:
    cargo run -p kubewright-apiserver-generator

# The figures of the repository's structure, beside those of the first version.
house:
    cargo run -q -p architecture

# The imports that make up the import cycles of a crate, such as apiserver/cel.
cycles crate:
    cargo run -q -p architecture -- {{crate}}

bench what="webhook":
    cargo run --release -p bench -- {{what}}

# Suites of others on the embedded API server; --real runs them on a real one, too.
judges *names:
    tests/judges/run {{names}}

# The embedded API server and a real kube-apiserver, case by case.
conformance *filter:
    cargo run -q -p conformance -- compare {{filter}}

# The samples' tests on the embedded and on a real API server, and what `crates/testing` does with a real one.
test-real *filter:
    tests/kube-apiserver/samples {{filter}}
    cargo test -p kubewright-testing --features real

# Random cases on both servers: a seed, and how many of each family.
generated seed count *options:
    cargo run -q -p conformance -- generate {{seed}} {{count}} {{options}}

# 60,000 random cases of every family over three versions, or a share of them in a thousand.
generated-all seed share="1000":
    tests/conformance/generated {{seed}} {{share}}

# What the real kube-apiserver answers, for machines that have none.
record *filter:
    cargo run -q -p conformance -- record {{filter}}

# Proves that the suite sees deliberate breaks of the embedded server: one build each.
mutants *filter:
    cargo run -q -p conformance -- mutants {{filter}}

# Licences, sources and duplicate versions; advisories need the network.
audit:
    cargo deny check licenses bans sources

ci:
    bash .ci/run

# What the tests try in part, in whole: every byte, 50,000 objects, 100,000 steps, 200 hand-overs and rotations, every suite of the
# judges. An hour and more.
thorough:
    KUBEWRIGHT_THOROUGH=1 cargo test -p kubewright-controller -- f17_ f22_ f23_
    KUBEWRIGHT_THOROUGH=1 cargo test -p kubewright-certificates --features shared -- model
    KUBEWRIGHT_THOROUGH=1 cargo test -p scaffold -- what_is_made
    KUBEWRIGHT_HAND_OVERS=200 cargo test --release -p replicas --test hand_over
    KUBEWRIGHT_ROTATIONS=200 cargo test --release -p replicas --test rotation
    KUBEWRIGHT_SCHEDULES=0..100000 cargo test --release -p kubewright-controller --lib -- simulation
    KUBEWRIGHT_SHARING=300 KUBEWRIGHT_SHARING_CHANGES=1000 cargo test --release -p replicas --test sharing -- --nocapture
    tests/judges/run
