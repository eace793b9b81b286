module kubewright.dev/tests/judges/cert-manager

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.11.5
	kubewright.dev/tests/judges/harness v0.0.0
)

replace kubewright.dev/tests/judges/harness => ../harness
