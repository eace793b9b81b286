package harness

import (
	"bytes"
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

// Suites are packages of tests that another project publishes, each of which starts its own control planes with envtest.
type Suites struct {
	// Module is the directory in which they are compiled, and Prefix what the import path of each begins with.
	Module, Prefix string
	// Tree has their sources; each runs in its own directory, and may write there.
	Tree  string
	Names []string
	// Skip is a pattern of Go's tests that are left out.
	Skip string
	// Together is how many run at once where times are not compared.
	Together int
}

// Run runs the suites on the programs of a directory and, if there is another one, on its programs, too. Each failure is printed.
func (s Suites) Run(work, assets, real string) (*Table, error) {
	programs, err := s.compile(work)
	if err != nil {
		return nil, err
	}
	table := NewTable("suite", real != "")
	judge := func(i int) (ours, theirs suite) {
		dir := filepath.Join(s.Tree, s.Names[i])
		ours = s.execute(programs[i], dir, assets, work)
		if real != "" {
			theirs = s.execute(programs[i], dir, real, work)
		}
		return ours, theirs
	}
	// Suites mostly wait, but times are compared of one at a time.
	together := s.Together
	if real != "" {
		together = 1
	}
	for i, both := range inOrder(len(s.Names), together, judge) {
		ours, theirs := both.ours, both.theirs
		table.Add(Line{s.Names[i], ours.passed, ours.failed, ours.skipped, ours.took.Seconds(),
			theirs.passed, theirs.failed, theirs.took.Seconds()})
		if ours.broken {
			fmt.Printf("%s\n", failures(ours.output))
		}
		if theirs.broken {
			fmt.Printf("on the real one:\n%s\n", failures(theirs.output))
		}
	}
	return table, nil
}

// compile makes a program of each suite, so that the times are those of their specs.
func (s Suites) compile(work string) ([]string, error) {
	programs := make([]string, len(s.Names))
	for i, suite := range s.Names {
		programs[i] = filepath.Join(work, strings.ReplaceAll(suite, "/", "_")+".test")
		// With -trimpath, suites would not find the files beside their sources.
		compile := exec.Command("go", "test", "-c", "-o", programs[i], s.Prefix+suite)
		compile.Dir = s.Module
		compile.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
		compile.Stdout, compile.Stderr = os.Stderr, os.Stderr
		if err := compile.Run(); err != nil {
			return nil, fmt.Errorf("compiling the suite %s: %w", suite, err)
		}
	}
	return programs, nil
}

// suite is what one run of a suite came to.
type suite struct {
	passed, failed, skipped int
	took                    time.Duration
	broken                  bool
	output                  []byte
}

// both is what one suite came to on the programs that are judged, and on the real ones.
type both struct{ ours, theirs suite }

// inOrder runs suites, several at once, and gives what each came to in their order.
func inOrder(count, together int, run func(int) (suite, suite)) iter.Seq2[int, both] {
	return func(yield func(int, both) bool) {
		slots := make(chan struct{}, together)
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

// CopyModule makes a copy of a module that suites may write to: the cache of modules is for reading. An archive of a module keeps no
// modes, so scripts become executable again.
func CopyModule(from, into string) error {
	if err := os.CopyFS(into, os.DirFS(from)); err != nil {
		return fmt.Errorf("copying the module %s: %w", from, err)
	}
	return filepath.WalkDir(into, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	})
}

// execute runs a suite in its own directory, with everything that it writes below work.
func (s Suites) execute(program, dir, assets, work string) suite {
	arguments := []string{"-test.v", "-test.timeout=15m"}
	if s.Skip != "" {
		arguments = append(arguments, "-test.skip="+s.Skip)
	}
	command := exec.Command(program, arguments...)
	command.Dir = dir
	command.Env = append(os.Environ(),
		"KUBEBUILDER_ASSETS="+assets, "TMPDIR="+work, "XDG_CACHE_HOME="+work, "GINKGO_NO_COLOR=true", "GINKGO_EDITOR_INTEGRATION=true")
	for variable, name := range map[string]string{"ETCD": "etcd", "KUBE_APISERVER": "kube-apiserver", "KUBECTL": "kubectl"} {
		// The older way to name the programs, which some suites require.
		command.Env = append(command.Env, "TEST_ASSET_"+variable+"="+filepath.Join(assets, name))
	}
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
func read(text []byte) suite {
	var all suite
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
	var plain suite
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
