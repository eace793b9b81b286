// Command cel runs the conformance data of the Common Expression Language, as its module publishes them, on kubewright-cel and in
// the API server's own environment.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"kubewright.dev/tests/judges/harness"
)

const module = "cel.dev/expr"

// minors are the versions of Kubernetes whose functions the crate knows, the newest first.
var minors = []uint{37, 36, 35, 34, 33, 32, 31, 30}

// orders is how often an expression is evaluated before its cost is taken for another one.
const orders = 100

func main() {
	flag.Bool("real", false, "the same: the API server's own environment always takes part")
	flag.Bool("part", false, "the same: every change has to pass all of it")
	only := flag.String("only", "", "print what the crate does with the cases of this `file`, such as lists")
	flag.Parse()
	if err := run(*only); err != nil {
		fmt.Fprintln(os.Stderr, "cel:", err)
		os.Exit(1)
	}
}

func run(only string) error {
	sources, err := harness.ModuleFolder(".", module)
	if err != nil {
		return err
	}
	fmt.Println(filepath.Base(sources))
	cases, err := readCases(filepath.Join(sources, "tests", "simple", "testdata"))
	if err != nil {
		return err
	}
	own, err := readExpressions("expressions.txt")
	if err != nil {
		return err
	}
	cases = append(cases, own...)
	differences, err := readDifferences("differences.tsv")
	if err != nil {
		return err
	}
	judge := newJudge(differences, only)
	for _, minor := range minors {
		if err := judge.addAll(cases, minor); err != nil {
			return fmt.Errorf("version 1.%d: %w", minor, err)
		}
	}
	return judge.close()
}

// addAll runs the cases in the environments of a version of Kubernetes.
func (j *judge) addAll(cases []Case, minor uint) error {
	ours, err := inCrate(cases, minor)
	if err != nil {
		return err
	}
	base, err := kubernetes(minor)
	if err != nil {
		return err
	}
	for i, one := range cases {
		var theirs outcome
		// Entries of a map come in any order there, on which the cost depends until a condition or an error ends a loop.
		for range orders {
			if theirs, err = inKubernetes(base, one); err != nil {
				return fmt.Errorf("%s: %w", one.name(), err)
			}
			if ours[i].cost == 0 || ours[i].cost == theirs.cost {
				break
			}
		}
		j.add(one, minor, ours[i], theirs)
	}
	return nil
}
