package main

import (
	"fmt"
	"os"
	"path"
	"strings"

	"kubewright.dev/tests/judges/harness"
)

// difference is a line of differences.tsv: cases with which the crate does something else than the API server.
type difference struct {
	// names is a pattern of file/section/name.
	names string
	// detail is part of what the crate does.
	detail string
	reason string
	used   int
}

// readDifferences reads the lines, whose columns are separated by tabs.
func readDifferences(file string) ([]*difference, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []*difference
	for number, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) != 3 {
			return nil, fmt.Errorf("%s:%d: a line has the names, the detail and the reason", file, number+1)
		}
		if _, err := path.Match(columns[0], ""); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, number+1, err)
		}
		all = append(all, &difference{names: columns[0], detail: columns[1], reason: columns[2]})
	}
	return all, nil
}

func (d *difference) covers(name, detail string) bool {
	matches, _ := path.Match(d.names, name)
	return matches && strings.Contains(detail, d.detail)
}

// judge compares outcomes case by case.
type judge struct {
	differences []*difference
	only        string
	files       []*counts
	unknown     []string
}

// counts are those of a file.
type counts struct {
	// file is a file of the newest version, or an older version.
	file string
	// The crate and the API server do the same: what the suite expects, or something else. Or they do not, for a known reason or an
	// unknown one.
	holds, asKubernetes, known, unknown int
}

func newJudge(differences []*difference, only string) *judge {
	return &judge{differences: differences, only: only}
}

func (j *judge) add(one Case, minor uint, ours, theirs outcome) {
	label := one.File
	if minor != minors[0] {
		label = fmt.Sprintf("all files, 1.%d", minor)
	}
	if len(j.files) == 0 || j.files[len(j.files)-1].file != label {
		j.files = append(j.files, &counts{file: label})
	}
	file := j.files[len(j.files)-1]
	if j.only == one.File && minor == minors[0] {
		fmt.Printf("%s\n  crate:      %v\n  API server: %v\n", one.name(), ours, theirs)
	}
	if ours.same(theirs) {
		if ours.holds(one.Test) {
			file.holds++
		} else {
			file.asKubernetes++
		}
		return
	}
	for _, known := range j.differences {
		if known.covers(one.name(), ours.String()) {
			known.used++
			file.known++
			return
		}
	}
	file.unknown++
	j.unknown = append(j.unknown, fmt.Sprintf("%s, 1.%d\n  crate:      %v\n  API server: %v", one.name(), minor, ours, theirs))
}

// close prints the tables, and fails if a difference is not known or a known one is none any more.
func (j *judge) close() error {
	sum := counts{file: "sum"}
	fmt.Printf("%-24s %11s %20s %18s %18s\n", "file", "as expected", "as the API server", "known difference", "unknown difference")
	for _, file := range j.files {
		file.print()
		sum.holds += file.holds
		sum.asKubernetes += file.asKubernetes
		sum.known += file.known
		sum.unknown += file.unknown
	}
	sum.print()
	reasons, order := map[string]int{}, []string{}
	for _, known := range j.differences {
		if _, seen := reasons[known.reason]; !seen {
			order = append(order, known.reason)
		}
		reasons[known.reason] += known.used
	}
	for _, reason := range order {
		fmt.Printf("%6d  %s\n", reasons[reason], reason)
	}
	for _, one := range j.unknown {
		fmt.Println("unknown difference:", one)
	}
	unused := 0
	for _, known := range j.differences {
		if known.used == 0 {
			fmt.Printf("no case differs so any more: %s\t%s\n", known.names, known.detail)
			unused++
		}
	}
	if err := harness.Record("cel", harness.Line{Passed: sum.holds + sum.asKubernetes + sum.known, Failed: sum.unknown + unused}); err != nil {
		return err
	}
	if failed := sum.unknown + unused; failed > 0 {
		return fmt.Errorf("%d differences that differences.tsv does not describe", failed)
	}
	return nil
}

func (c *counts) print() {
	fmt.Printf("%-24s %11d %20d %18d %18d\n", c.file, c.holds, c.asKubernetes, c.known, c.unknown)
}
