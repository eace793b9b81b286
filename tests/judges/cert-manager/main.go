// Command cert-manager is the judge `cert-manager`: the controller, the webhook and the CA injector of cert-manager run beside the
// embedded API server, and its integration suites on the programs that `kubewright assets shim` writes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"kubewright.dev/tests/judges/harness"
)

func main() {
	part := flag.Bool("part", false, "run nothing: this judge is not part of every change, because its programs take minutes to build")
	real := flag.Bool("real", false, "run the same on a real control plane, too, and compare the times")
	only := flag.String("only", "", "run the `programs` or the suites alone, or one suite, such as test/integration/certificates")
	flag.Parse()
	if *part {
		fmt.Println("cert-manager: not part of every change, because its programs take minutes to build")
		return
	}
	if err := run(*real, *only); err != nil {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1)
	}
}

func run(real bool, only string) error {
	tree, err := unpack()
	if err != nil {
		return err
	}
	var problems []error
	if only == "" || only == "programs" {
		problems = append(problems, runPrograms(tree, real))
	}
	if only != "programs" {
		problems = append(problems, runSuites(tree, real, only))
	}
	return errors.Join(problems...)
}

func runPrograms(tree tree, real bool) error {
	programs, err := tree.build()
	if err != nil {
		return err
	}
	command, err := harness.Command(real)
	if err != nil {
		return err
	}
	checks := programs.checks(tree)
	embedded := harness.Embedded(command, "--controllers", "all")
	if !real {
		return harness.Judge("cert-manager", checks, embedded, nil)
	}
	plane, err := harness.RealWithControllers()
	if err != nil {
		return err
	}
	return harness.Judge("cert-manager", checks, embedded, plane)
}

// suites are the integration suites that start a control plane. Left out are rfc2136_dns01, which starts none, and versionchecker,
// which reads manifests of older releases that its module does not have.
var suites = []string{
	"test/integration/acme", "test/integration/certificaterequests", "test/integration/certificates", "test/integration/challenges",
	"test/integration/conversion", "test/integration/ctl", "test/integration/ctl/migrate", "test/integration/fuzz/acme",
	"test/integration/fuzz/cert-manager", "test/integration/issuers", "test/integration/validation", "test/integration/webhook",
}

func runSuites(tree tree, real bool, only string) error {
	work, err := os.MkdirTemp("", "kubewright-judge-")
	if err != nil {
		return fmt.Errorf("making a directory for this run: %w", err)
	}
	defer os.RemoveAll(work)
	assets, realAssets, err := harness.Assets(work, real)
	if err != nil {
		return err
	}
	chosen := suites
	if only != "" && only != "suites" {
		chosen = []string{only}
	}
	all := harness.Suites{Module: tree.folder, Prefix: "./", Tree: tree.folder, Names: chosen, Together: 4}
	table, err := all.Run(work, assets, realAssets)
	if err != nil {
		return err
	}
	return table.Close("cert-manager's suites")
}
