// The judge `kubernetes`: runs conformance specs of Kubernetes' own e2e suite against the embedded API server.
//
// specs.tsv lists every conformance spec that needs no kubelet, with its verdict. A spec that is listed as passing has to
// pass, and a spec that passes although it is listed as failing has to be listed as passing: the list only grows.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	part := flag.Bool("part", false, "run only the specs whose verdict is `part`: what every change is held to")
	failing := flag.Bool("failing", false, "run the specs that are listed as failing, too, each with the timeouts of the suite")
	focus := flag.String("focus", "", "run the specs whose name contains this `text`, whatever their verdict")
	processes := flag.Int("procs", 8, "run this many specs at a time")
	timeout := flag.Duration("timeout", 10*time.Minute, "give up after this long")
	build := flag.Bool("build", false, "compile the suite, and run nothing")
	command := flag.String("kubewright", "", "use this `program` instead of building the command of this repository")
	flag.Parse()

	if *build {
		if _, err := buildSuite(); err != nil {
			fmt.Fprintf(os.Stderr, "kubernetes: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*command, *focus, *part, *failing, *processes, *timeout); err != nil {
		fmt.Fprintf(os.Stderr, "kubernetes: %v\n", err)
		os.Exit(1)
	}
}

func run(command, focus string, part, failing bool, processes int, timeout time.Duration) error {
	listed, err := readSpecs("specs.tsv")
	if err != nil {
		return err
	}
	chosen := choose(listed, focus, part, failing)
	if len(chosen) == 0 {
		return fmt.Errorf("choosing specs: none of the %d listed specs matches", len(listed))
	}
	work, err := os.MkdirTemp("", "kubewright-judge-")
	if err != nil {
		return fmt.Errorf("making a folder for this run: %w", err)
	}
	defer os.RemoveAll(work)

	suite, err := buildSuite()
	if err != nil {
		return err
	}
	if command == "" {
		if command, err = buildCommand(); err != nil {
			return err
		}
	}
	server, err := startServer(command, work, suite.agnhost)
	if err != nil {
		return err
	}
	defer server.stop()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		server.stop()
		os.RemoveAll(work)
		os.Exit(130)
	}()

	began := time.Now()
	results, err := suite.run(server.kubeconfig, work, chosen, processes, timeout)
	if err != nil {
		return err
	}
	return judge(chosen, results, time.Since(began))
}
