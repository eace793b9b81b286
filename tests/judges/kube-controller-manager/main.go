// Command kube-controller-manager is the judge of that name: the real kube-controller-manager and kube-scheduler, with nodes that
// kwok simulates, work beside the embedded API server as they do beside a real one.
package main

import (
	"flag"
	"fmt"
	"os"

	"kubewright.dev/tests/judges/harness"
)

func main() {
	part := flag.Bool("part", false, "run nothing: this judge is not part of every change, because its programs take minutes to build")
	real := flag.Bool("real", false, "run the same on a real kube-apiserver and etcd, and compare the times")
	flag.Parse()
	if *part {
		fmt.Println("kube-controller-manager: not part of every change, because its programs take minutes to build")
		return
	}
	if err := run(*real); err != nil {
		fmt.Fprintln(os.Stderr, "kube-controller-manager:", err)
		os.Exit(1)
	}
}

func run(real bool) error {
	command, err := harness.Command(real)
	if err != nil {
		return err
	}
	embedded, err := harness.WithControllers(harness.EmbeddedWithKeys(command, "--controllers", "none",
		"--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "ServiceAccount"))
	if err != nil {
		return err
	}
	if !real {
		return harness.Judge("kube-controller-manager", checks(), embedded, nil)
	}
	plane, err := harness.RealWithControllers()
	if err != nil {
		return err
	}
	return harness.Judge("kube-controller-manager", checks(), embedded, plane)
}
