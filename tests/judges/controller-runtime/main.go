// Command controller-runtime runs the suites of controller-runtime that start a control plane, as its module publishes them.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const module = "sigs.k8s.io/controller-runtime/"

// bar is how many times the time on the real programs that on the drop-in has to be shorter.
const bar = 4

// together is how many suites run at once where times are not compared.
const together = 4

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

// result is what one run of a suite came to.
type result struct {
	passed, failed, skipped int
	took                    time.Duration
	broken                  bool
	output                  []byte
}

func main() {
	assets := flag.String("assets", "", "directory of the programs that are judged")
	real := flag.String("real", "", "directory of real programs to run the suites on, too")
	onlyPart := flag.Bool("part", false, "run the suites that every change has to pass")
	only := flag.String("only", "", "run this suite alone, such as pkg/client")
	flag.Parse()
	chosen := suites
	if *onlyPart {
		chosen = part
	}
	if *only != "" {
		chosen = []string{*only}
	}
	if err := run(chosen, *assets, *real); err != nil {
		fmt.Fprintln(os.Stderr, "controller-runtime:", err)
		os.Exit(1)
	}
}

func run(chosen []string, assets, real string) error {
	work, err := os.MkdirTemp("", "judge-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	version, err := output("go", "list", "-m", "-f", "{{.Version}}", strings.TrimSuffix(module, "/"))
	if err != nil {
		return err
	}
	fmt.Printf("controller-runtime %s\n%-36s %7s %7s %7s %9s", version, "suite", "passed", "failed", "skipped", "seconds")
	if real != "" {
		fmt.Printf(" %12s %12s %6s", "real failed", "real seconds", "ratio")
	}
	fmt.Println()
	tree, err := unpack(work)
	if err != nil {
		return err
	}
	programs, err := compile(chosen, work)
	if err != nil {
		return err
	}
	judge := func(i int) (ours, theirs result) {
		dir := filepath.Join(tree, chosen[i])
		ours = execute(programs[i], dir, assets, work)
		if real != "" {
			theirs = execute(programs[i], dir, real, work)
		}
		return ours, theirs
	}
	// Suites mostly wait, but times are compared of one at a time.
	atOnce := together
	if real != "" {
		atOnce = 1
	}
	var sum, sumReal result
	for suite, both := range inOrder(len(chosen), atOnce, judge) {
		ours, theirs := both.ours, both.theirs
		fmt.Printf("%-36s %7d %7d %7d %9.2f", chosen[suite], ours.passed, ours.failed, ours.skipped, ours.took.Seconds())
		sum.add(ours)
		if real != "" {
			fmt.Printf(" %12d %12.2f %6.1f", theirs.failed, theirs.took.Seconds(), theirs.took.Seconds()/ours.took.Seconds())
			sumReal.add(theirs)
		}
		fmt.Println()
		if ours.broken {
			fmt.Printf("%s\n", failures(ours.output))
		}
	}
	fmt.Printf("%-36s %7d %7d %7d %9.2f", "sum", sum.passed, sum.failed, sum.skipped, sum.took.Seconds())
	if real != "" {
		ratio := sumReal.took.Seconds() / sum.took.Seconds()
		verdict := "met"
		if ratio < bar {
			verdict = "missed"
		}
		fmt.Printf(" %12d %12.2f %6.1f, bar %d: %s", sumReal.failed, sumReal.took.Seconds(), ratio, bar, verdict)
	}
	fmt.Println()
	if sum.broken {
		return fmt.Errorf("%d specs failed", sum.failed)
	}
	return nil
}

// compile makes a program of each suite, so that the times are those of their specs.
func compile(chosen []string, work string) ([]string, error) {
	programs := make([]string, len(chosen))
	for i, suite := range chosen {
		programs[i] = filepath.Join(work, strings.ReplaceAll(suite, "/", "_")+".test")
		if _, err := output("go", "test", "-c", "-o", programs[i], module+suite); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// both is what one suite came to on the programs that are judged, and on the real ones.
type both struct{ ours, theirs result }

// inOrder runs suites, several at once, and gives what each came to in their order.
func inOrder(count, atOnce int, run func(int) (result, result)) iter.Seq2[int, both] {
	return func(yield func(int, both) bool) {
		slots := make(chan struct{}, atOnce)
		done := make([]chan both, count)
		for i := range done {
			done[i] = make(chan both, 1)
		}
		go func() {
			for i := range done {
				slots <- struct{}{}
				go func() {
					ours, theirs := run(i)
					<-slots
					done[i] <- both{ours, theirs}
				}()
			}
		}()
		for i := range done {
			if !yield(i, <-done[i]) {
				return
			}
		}
	}
}

// unpack makes a copy of the module that suites may write to: the cache of modules is for reading. An archive of a module keeps
// no modes, so scripts become executable again.
func unpack(work string) (string, error) {
	told, err := output("go", "mod", "download", "-json", strings.TrimSuffix(module, "/"))
	if err != nil {
		return "", err
	}
	var cached struct{ Dir string }
	if err := json.Unmarshal([]byte(told), &cached); err != nil {
		return "", fmt.Errorf("reading where the module is: %w", err)
	}
	tree := filepath.Join(work, "module")
	if err := os.CopyFS(tree, os.DirFS(cached.Dir)); err != nil {
		return "", err
	}
	return tree, filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	})
}

// execute runs a suite in its own directory, with everything that it writes below work.
func execute(program, dir, assets, work string) result {
	command := exec.Command(program, "-test.v", "-test.timeout=15m", "-test.skip="+elsewhere)
	command.Dir = dir
	command.Env = append(os.Environ(),
		"KUBEBUILDER_ASSETS="+assets, "TMPDIR="+work, "XDG_CACHE_HOME="+work, "GINKGO_NO_COLOR=true", "GINKGO_EDITOR_INTEGRATION=true")
	began := time.Now()
	text, err := command.CombinedOutput()
	read := read(text)
	read.took = time.Since(began)
	read.broken = err != nil
	read.output = text
	if read.broken && read.failed == 0 {
		read.failed = 1
	}
	return read
}

var (
	specs = regexp.MustCompile(`(\d+) Passed.*?\| .*?(\d+) Failed.*?\| .*?(\d+) Pending.*?\| .*?(\d+) Skipped`)
	tests = regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): `)
)

// read counts specs, and the Go tests that are not made of specs.
func read(text []byte) result {
	var all result
	counted := specs.FindAllSubmatch(text, -1)
	for _, line := range counted {
		number := func(group int) int {
			n, _ := strconv.Atoi(string(line[group]))
			return n
		}
		all.passed += number(1)
		all.failed += number(2)
		all.skipped += number(3) + number(4)
	}
	var plain result
	for _, line := range tests.FindAllSubmatch(text, -1) {
		switch string(line[1]) {
		case "PASS":
			plain.passed++
		case "FAIL":
			plain.failed++
		default:
			plain.skipped++
		}
	}
	// The Go tests that run the specs are among them.
	for range counted {
		if plain.failed > 0 && all.failed > 0 {
			plain.failed--
		} else if plain.passed > 0 {
			plain.passed--
		}
	}
	all.passed += plain.passed
	all.failed += plain.failed
	all.skipped += plain.skipped
	return all
}

// failures is the part of the output that tells what failed.
func failures(text []byte) []byte {
	const most = 16 << 10
	if at := bytes.Index(text, []byte("Summarizing ")); at >= 0 {
		return text[at:]
	}
	return text[max(0, len(text)-most):]
}

func (sum *result) add(other result) {
	sum.passed += other.passed
	sum.failed += other.failed
	sum.skipped += other.skipped
	sum.took += other.took
	sum.broken = sum.broken || other.broken
}

func output(name string, arguments ...string) (string, error) {
	command := exec.Command(name, arguments...)
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}
