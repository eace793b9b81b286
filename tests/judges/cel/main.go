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
	differences, err := readDifferences("differences.tsv")
	if err != nil {
		return err
	}
	ours, err := inCrate(cases)
	if err != nil {
		return err
	}
	base, err := kubernetes()
	if err != nil {
		return err
	}
	judge := newJudge(differences, only)
	for i, one := range cases {
		theirs, err := inKubernetes(base, one)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name(), err)
		}
		judge.add(one, ours[i], theirs)
	}
	return judge.close()
}
