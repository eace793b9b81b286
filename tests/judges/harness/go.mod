module kubewright.dev/tests/judges/harness

go 1.26.0
