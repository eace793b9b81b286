module kubewright.dev/tests/judges/check

go 1.26.0

require (
	go.yaml.in/yaml/v3 v3.0.5
	kubewright.dev/tests/judges/harness v0.0.0
)

replace kubewright.dev/tests/judges/harness => ../harness
