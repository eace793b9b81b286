// Command helm is the judge `helm`: Helm 3 and Helm 4, built from their modules, install, upgrade, test, roll back and uninstall
// charts of others and a few of ours on the embedded API server.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"kubewright.dev/tests/judges/harness"
)

const certManager = "github.com/cert-manager/cert-manager"

func main() {
	part := flag.Bool("part", false, "run what every change has to pass: the chart of `helm create`, with both versions")
	real := flag.Bool("real", false, "run the same on a real control plane, and compare the times")
	build := flag.Bool("build", false, "build Helm, and run nothing")
	flag.Parse()
	if err := run(*part, *real, *build); err != nil {
		fmt.Fprintln(os.Stderr, "helm:", err)
		os.Exit(1)
	}
}

func run(part, real, build bool) error {
	charts, err := findCharts()
	if err != nil {
		return err
	}
	kept, err := harness.Kept("helm")
	if err != nil {
		return err
	}
	var checks []harness.Check
	for _, major := range []int{3, 4} {
		into := filepath.Join(kept, fmt.Sprintf("v%d", major))
		program, err := harness.Build(".", into, fmt.Sprintf("helm.sh/helm/v%d/cmd/helm", major))
		if err != nil {
			return err
		}
		checks = append(checks, client{program, major, charts}.checks(part)...)
	}
	if build {
		return nil
	}
	command, err := harness.Command(real)
	if err != nil {
		return err
	}
	embedded := harness.Embedded(command, "--controllers", "all")
	if !real {
		return harness.Judge("helm", checks, embedded, nil)
	}
	plane, err := harness.RealWithControllers()
	if err != nil {
		return err
	}
	return harness.Judge("helm", checks, embedded, withVolumes(plane))
}

// withVolumes adds what the embedded server provisions for claims: no part of Kubernetes does.
func withVolumes(plane harness.Plane) harness.Plane {
	return func(folder string) (*harness.Cluster, error) {
		cluster, err := plane(folder)
		if err != nil {
			return nil, err
		}
		for i := range 8 {
			volume := fmt.Sprintf(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: volume-%d}, spec: {capacity: {storage: 1Gi},
				accessModes: [ReadWriteOnce], storageClassName: judge, persistentVolumeReclaimPolicy: Retain, hostPath: {path: /tmp}}}`, i)
			if err := cluster.Apply(volume); err != nil {
				cluster.Stop()
				return nil, err
			}
		}
		return cluster, nil
	}
}

// charts are where the charts are: ours, Helm's own examples, and cert-manager's.
type charts struct{ ours, examples, certManager string }

func findCharts() (charts, error) {
	ours, err := filepath.Abs("charts")
	if err != nil {
		return charts{}, err
	}
	helm, err := harness.ModuleFolder(".", "helm.sh/helm/v4")
	if err != nil {
		return charts{}, err
	}
	sources, err := harness.ModuleFolder(".", certManager)
	return charts{
		ours:        ours,
		examples:    filepath.Join(helm, "pkg", "cmd", "testdata", "testcharts"),
		certManager: filepath.Join(sources, "deploy", "charts", "cert-manager"),
	}, err
}
