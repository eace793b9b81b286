// The list of specs: what passes, what does not and why.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// spec is one line of the list: its verdict, its full name and, where it does not pass, the reason.
type spec struct {
	verdict, name, reason string
}

const (
	// part passes, and every change is held to it.
	part = "part"
	// pass passes.
	pass = "pass"
	// fail does not pass, for the reason that is given.
	fail = "fail"
)

func readSpecs(path string) ([]spec, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the list of specs: %w", err)
	}
	defer file.Close()
	var specs []spec
	seen := map[string]bool{}
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		if strings.HasPrefix(lines.Text(), "#") || lines.Text() == "" {
			continue
		}
		columns := strings.Split(lines.Text(), "\t")
		if len(columns) != 3 {
			return nil, fmt.Errorf("reading %s: line %d has %d columns instead of verdict, name and reason", path, number, len(columns))
		}
		one := spec{columns[0], columns[1], columns[2]}
		switch {
		case one.verdict != part && one.verdict != pass && one.verdict != fail:
			return nil, fmt.Errorf("reading %s: line %d: unknown verdict %q", path, number, one.verdict)
		case (one.verdict == fail) != (one.reason != ""):
			return nil, fmt.Errorf("reading %s: line %d: a spec has a reason if, and only if, it fails", path, number)
		case seen[one.name]:
			return nil, fmt.Errorf("reading %s: line %d: %q is listed twice", path, number, one.name)
		}
		seen[one.name] = true
		specs = append(specs, one)
	}
	return specs, lines.Err()
}

func choose(listed []spec, focus string, onlyPart, failing bool) []spec {
	var chosen []spec
	for _, one := range listed {
		switch {
		case focus != "" && !strings.Contains(one.name, focus):
		case focus == "" && onlyPart && one.verdict != part:
		case focus == "" && !failing && one.verdict == fail:
		default:
			chosen = append(chosen, one)
		}
	}
	return chosen
}
