// The judge `kubernetes`: runs conformance specs of Kubernetes' own e2e suite against the embedded API server.
//
// specs.tsv lists every conformance spec that needs no kubelet, with its verdict. A spec that is listed as passing has to
// pass, and a spec that passes although it is listed as failing has to be listed as passing: the list only grows.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"kubewright.dev/tests/judges/harness"
)

func main() {
	part := flag.Bool("part", false, "run only the specs whose verdict is `part`: what every change is held to")
	failing := flag.Bool("failing", false, "run the specs that are listed as failing, too, each with the timeouts of the suite")
	focus := flag.String("focus", "", "run the specs whose name contains this `text`, whatever their verdict")
	processes := flag.Int("procs", 8, "run this many specs at a time")
	timeout := flag.Duration("timeout", 0, "give up on specs that run together after this long (default 10m, for the whole list 30m)")
	build := flag.Bool("build", false, "compile the suite, and run nothing")
	real := flag.Bool("real", false, "run the specs that need no containers on a real control plane, too, and compare the times")
	flag.Parse()
	if *timeout == 0 {
		*timeout = 10 * time.Minute
		if !*part && *focus == "" {
			*timeout = 30 * time.Minute
		}
	}

	if *build {
		if _, err := buildSuite(); err != nil {
			fmt.Fprintf(os.Stderr, "kubernetes: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*focus, *part, *failing, *real, *processes, *timeout); err != nil {
		fmt.Fprintf(os.Stderr, "kubernetes: %v\n", err)
		os.Exit(1)
	}
}

func run(focus string, onlyPart, failing, real bool, processes int, timeout time.Duration) error {
	listed, err := readSpecs("specs.tsv")
	if err != nil {
		return err
	}
	chosen := choose(listed, focus, onlyPart, failing)
	if len(chosen) == 0 {
		return fmt.Errorf("choosing specs: none of the %d listed specs matches", len(listed))
	}
	suite, err := buildSuite()
	if err != nil {
		return err
	}
	say("building the command")
	command, err := harness.Command(real)
	if err != nil {
		return err
	}
	on := func(plane harness.Plane, one batch) (outcome, error) {
		results := map[string]result{}
		took, err := harness.On(plane, func(cluster *harness.Cluster) error {
			return suite.run(cluster.Kubeconfig, cluster.Folder, one, timeout, results)
		})
		return outcome{results, took}, err
	}
	var judged []error
	for _, one := range split(chosen, processes) {
		flags := []string{"--controllers", "all", "--nodes", "2"}
		if one.runsPrograms {
			flags = append(flags, "--container", "registry.k8s.io/e2e-test-images/agnhost:*="+suite.agnhost+" pause")
		}
		ours, err := on(harness.Embedded(command, flags...), one)
		if err != nil {
			return err
		}
		var theirs outcome
		switch {
		case real && one.runsPrograms:
			// Where no container runs, a spec that needs an answer of one waits for minutes, and fails.
			say("not run on the real control plane: %d specs that need containers", len(one.specs))
		case real:
			plane, err := harness.RealWithControllers()
			if err != nil {
				return err
			}
			if theirs, err = on(plane, one); err != nil {
				return err
			}
		}
		judged = append(judged, judge(one, ours, theirs))
	}
	return errors.Join(judged...)
}
