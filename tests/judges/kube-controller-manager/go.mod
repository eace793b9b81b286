module kubewright.dev/tests/judges/kube-controller-manager

go 1.26.0

require kubewright.dev/tests/judges/harness v0.0.0

replace kubewright.dev/tests/judges/harness => ../harness
