// Kubernetes' e2e suite: built from its module, run by ginkgo, its report read.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"kubewright.dev/tests/judges/harness"
)

// suite is where the programs are that the run needs: agnhost is what the containers of its pods run.
type suite struct {
	ginkgo, e2e, agnhost string
}

// buildSuite compiles what is not in Go's cache.
func buildSuite() (suite, error) {
	folder, err := harness.Kept("kubernetes")
	if err != nil {
		return suite{}, err
	}
	runtime, err := harness.RuntimeFlags(".")
	if err != nil {
		return suite{}, err
	}
	built := suite{ginkgo: filepath.Join(folder, "ginkgo"), e2e: filepath.Join(folder, "e2e.test"), agnhost: filepath.Join(folder, "agnhost")}
	for _, arguments := range [][]string{
		{"build", "-o", built.ginkgo, "github.com/onsi/ginkgo/v2/ginkgo"},
		{"build", "-ldflags=-s -w", "-o", built.agnhost, "k8s.io/kubernetes/test/images/agnhost"},
		{"test", "-c", runtime, "-ldflags=-s -w", "-o", built.e2e, "k8s.io/kubernetes/test/e2e"},
	} {
		began := time.Now()
		build := harness.Golang(".", arguments...)
		build.Stdout = os.Stderr
		if err := build.Run(); err != nil {
			return suite{}, fmt.Errorf("building %s: %w", arguments[len(arguments)-1], err)
		}
		say("built %s in %.0f s", arguments[len(arguments)-1], time.Since(began).Seconds())
	}
	return built, nil
}

// batch is some of the chosen specs, which run so many at a time: a line of the closing table.
type batch struct {
	name      string
	specs     []spec
	processes int
	// runsPrograms says that the containers of these specs have to answer.
	runsPrograms bool
}

// split parts the chosen specs: those whose containers have to answer run one after another, because all of them listen on one
// port of this machine. The containers of the others are simulated.
func split(chosen []spec, processes int) []batch {
	together := batch{name: "kubernetes", processes: processes}
	alone := batch{name: "kubernetes, programs", processes: 1, runsPrograms: true}
	for _, one := range chosen {
		if strings.Contains(one.name, "] AdmissionWebhook ") {
			alone.specs = append(alone.specs, one)
		} else {
			together.specs = append(together.specs, one)
		}
	}
	var batches []batch
	for _, one := range []batch{together, alone} {
		if len(one.specs) > 0 {
			batches = append(batches, one)
		}
	}
	return batches
}

// run runs the specs of a batch, and no others.
func (s suite) run(kubeconfig, work string, one batch, timeout time.Duration, results map[string]result) error {
	report := filepath.Join(work, "report.json")
	runErr := s.report(kubeconfig, report, one.specs, one.processes, timeout)
	found, err := readReport(report)
	if err != nil {
		return fmt.Errorf("%w (the suite said: %v)", err, runErr)
	}
	// The report has the specs of other batches, too, as skipped, and faults of the suite itself.
	for name, became := range found {
		if became.state != "skipped" {
			results[name] = became
		}
	}
	return nil
}

// report runs specs and has ginkgo write its report.
func (s suite) report(kubeconfig, report string, chosen []spec, processes int, timeout time.Duration) error {
	names := make([]string, len(chosen))
	for i, one := range chosen {
		names[i] = regexp.QuoteMeta(one.name)
	}
	// ginkgo matches the regular expression with the name of the suite, a blank and the name of the spec.
	focus := "^Kubernetes e2e suite (" + strings.Join(names, "|") + ")$"
	say("running %d specs, %d at a time", len(chosen), processes)
	run := exec.Command(s.ginkgo,
		"--procs="+strconv.Itoa(processes), "--timeout="+timeout.String(), "--focus="+focus, "--no-color", "--succinct",
		"--silence-skips", "--keep-going", "--output-dir="+filepath.Dir(report), "--json-report="+filepath.Base(report),
		s.e2e, "--",
		"--kubeconfig="+kubeconfig, "--provider=skeleton", "--allowed-not-ready-nodes=-1", "--num-nodes=1",
		"--disable-log-dump=true", "--report-dir=", "--kubectl-path="+kubectl(),
	)
	output, err := os.Create(filepath.Join(filepath.Dir(report), "output"))
	if err != nil {
		return fmt.Errorf("keeping what the suite prints: %w", err)
	}
	defer output.Close()
	run.Stdout, run.Stderr = output, output
	return run.Run()
}

func kubectl() string {
	if found, err := exec.LookPath("kubectl"); err == nil {
		return found
	}
	return "kubectl"
}

// result is what became of one spec.
type result struct {
	state, failure string
	seconds        float64
}

// readReport reads the parts of ginkgo's report that say what became of each spec.
func readReport(path string) (map[string]result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the report of the suite: %w", err)
	}
	var reports []struct {
		SpecReports []struct {
			LeafNodeType            string
			LeafNodeText            string
			ContainerHierarchyTexts []string
			State                   string
			RunTime                 time.Duration
			Failure                 struct{ Message string }
		}
	}
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, fmt.Errorf("reading the report of the suite: %w", err)
	}
	results := map[string]result{}
	for _, report := range reports {
		for _, one := range report.SpecReports {
			if one.LeafNodeType != "It" {
				if one.State == "failed" {
					results[one.LeafNodeType] = result{state: one.State, failure: one.Failure.Message}
				}
				continue
			}
			name := strings.Join(append(one.ContainerHierarchyTexts, one.LeafNodeText), " ")
			results[name] = result{one.State, one.Failure.Message, one.RunTime.Seconds()}
		}
	}
	return results, nil
}
