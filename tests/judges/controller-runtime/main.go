// Command controller-runtime runs the suites of controller-runtime that start a control plane, as its module publishes them.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"kubewright.dev/tests/judges/harness"
)

const module = "sigs.k8s.io/controller-runtime"

// bar is how many times the time on the real programs that on the drop-in has to be shorter.
const bar = 4

// suites are the packages whose tests start a control plane; those in part come first.
var (
	part   = []string{"pkg/client", "pkg/cache", "pkg/builder", "pkg/manager", "pkg/webhook"}
	suites = append(part[:len(part):len(part)],
		"pkg/client/apiutil", "pkg/cluster", "pkg/controller", "pkg/controller/controllerutil", "pkg/envtest",
		"pkg/handler", "pkg/internal/controller", "pkg/internal/recorder", "pkg/internal/testing/controlplane",
		"pkg/manager/internal/integration", "pkg/metrics/filters", "pkg/reconcile", "pkg/source")
)

// elsewhere are the tests that do not run on the programs that are judged: they download a control plane of v1.28.
const elsewhere = "/aggregatedDiscovery=false"

func main() {
	real := flag.Bool("real", false, "run the suites on a real kube-apiserver and etcd, too, and compare the times")
	onlyPart := flag.Bool("part", false, "run the suites that every change has to pass")
	only := flag.String("only", "", "run this `suite` alone, such as pkg/client")
	flag.Parse()
	chosen := suites
	if *onlyPart {
		chosen = part
	}
	if *only != "" {
		chosen = []string{*only}
	}
	if err := run(chosen, *real); err != nil {
		fmt.Fprintln(os.Stderr, "controller-runtime:", err)
		os.Exit(1)
	}
}

func run(chosen []string, real bool) error {
	work, err := os.MkdirTemp("", "judge-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	assets, realAssets, err := harness.Assets(work, real)
	if err != nil {
		return err
	}
	sources, err := harness.ModuleFolder(".", module)
	if err != nil {
		return err
	}
	tree := filepath.Join(work, "module")
	if err := harness.CopyModule(sources, tree); err != nil {
		return err
	}
	fmt.Println(filepath.Base(sources))
	all := harness.Suites{Module: ".", Prefix: module + "/", Tree: tree, Names: chosen, Skip: elsewhere, Together: 4}
	table, err := all.Run(work, assets, realAssets)
	if err != nil {
		return err
	}
	if sum := table.Sum(); real {
		ratio, verdict := sum.RealSeconds/sum.Seconds, "met"
		if ratio < bar {
			verdict = "missed"
		}
		fmt.Printf("ratio %.1f, bar %d: %s\n", ratio, bar, verdict)
	}
	return table.Close("controller-runtime")
}
