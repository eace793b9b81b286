package harness

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Check is something that has to hold on every control plane.
type Check struct {
	Name string
	Run  func(*Cluster) error
}

// outcome is what became of a check on one control plane.
type outcome struct {
	took    time.Duration
	problem error
}

// Judge runs checks one after another on the embedded control plane and, if there is one, on a real one, each started for them.
// It prints what became of them, and fails if a check fails on the embedded one.
func Judge(name string, checks []Check, embedded, real Plane) error {
	work, err := os.MkdirTemp("", "kubewright-judge-")
	if err != nil {
		return fmt.Errorf("making a directory for this run: %w", err)
	}
	defer os.RemoveAll(work)
	ours, err := runOn(embedded, filepath.Join(work, "embedded"), checks)
	if err != nil {
		return fmt.Errorf("starting the embedded control plane: %w", err)
	}
	var theirs []outcome
	if real != nil {
		if theirs, err = runOn(real, filepath.Join(work, "real"), checks); err != nil {
			return fmt.Errorf("starting the real control plane: %w", err)
		}
	}
	table := NewTable("check", real != nil)
	for i, one := range ours {
		line := Line{Name: "(start)", Seconds: one.took.Seconds()}
		if i > 0 {
			line.Name = checks[i-1].Name
			line.count(one, &line.Passed, &line.Failed)
		}
		if real != nil {
			line.RealSeconds = theirs[i].took.Seconds()
			if i > 0 {
				line.count(theirs[i], &line.RealPassed, &line.RealFailed)
			}
		}
		table.Add(line)
		if one.problem != nil {
			fmt.Printf("    %s\n", strings.ReplaceAll(one.problem.Error(), "\n", "\n    "))
		}
		if real != nil && theirs[i].problem != nil {
			fmt.Printf("    on the real one: %s\n", strings.ReplaceAll(theirs[i].problem.Error(), "\n", "\n    "))
		}
	}
	return table.Close(name)
}

func (l *Line) count(one outcome, passed, failed *int) {
	if one.problem == nil {
		*passed = 1
	} else {
		*failed = 1
	}
}

// runOn starts a control plane, which is the first outcome, and runs the checks on it.
func runOn(plane Plane, folder string, checks []Check) ([]outcome, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	began := time.Now()
	cluster, err := plane(folder)
	if err != nil {
		return nil, err
	}
	defer cluster.Stop()
	defer stopOnInterrupt(cluster)()
	outcomes := []outcome{{took: time.Since(began)}}
	for _, check := range checks {
		began := time.Now()
		problem := check.Run(cluster)
		outcomes = append(outcomes, outcome{time.Since(began), problem})
	}
	return outcomes, nil
}

// On starts a control plane, calls what uses it, and returns how long that took without the start.
func On(plane Plane, use func(*Cluster) error) (time.Duration, error) {
	work, err := os.MkdirTemp("", "kubewright-judge-")
	if err != nil {
		return 0, fmt.Errorf("making a directory for this run: %w", err)
	}
	defer os.RemoveAll(work)
	outcomes, err := runOn(plane, filepath.Join(work, "cluster"), []Check{{Run: use}})
	if err != nil {
		return 0, err
	}
	return outcomes[1].took, outcomes[1].problem
}

// stopOnInterrupt ends the programs of a cluster before an interrupted judge ends. It returns how to take that back.
func stopOnInterrupt(cluster *Cluster) func() {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-interrupted; ok {
			cluster.Stop()
			os.RemoveAll(filepath.Dir(cluster.Folder))
			os.Exit(130)
		}
	}()
	return func() {
		signal.Stop(interrupted)
		close(interrupted)
	}
}
