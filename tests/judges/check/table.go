package main

import (
	"fmt"
	"slices"
)

// print prints what each program finds of each class, its false alarms, and its time.
func (j *judged) print() {
	var names []string
	var columns []map[string]bool
	for index, tool := range j.tools {
		names = append(names, tool.name)
		columns = append(columns, j.runs[index].refused)
	}
	if j.real != nil {
		names = append(names, "kube-apiserver")
		columns = append(columns, j.real)
	}
	fmt.Printf("%-40s %9s", "broken manifests", "of them")
	for _, name := range names {
		fmt.Printf(" %17s", name)
	}
	fmt.Println()
	classes := map[string][]manifest{}
	var sound, broken []manifest
	for _, one := range j.manifests {
		if j.broken(one) {
			broken = append(broken, one)
			classes[one.class] = append(classes[one.class], one)
		} else {
			sound = append(sound, one)
		}
	}
	order := []string{}
	for class := range classes {
		order = append(order, class)
	}
	slices.Sort(order)
	for _, class := range order {
		row(class, classes[class], columns)
	}
	row("all broken manifests", broken, columns)
	row("sound manifests: false alarms", sound, columns)
	times(fmt.Sprintf("seconds for all, worst of %d", repeats), j.runs, false)
}

func row(name string, of []manifest, columns []map[string]bool) {
	fmt.Printf("%-40s %9d", name, len(of))
	for _, refused := range columns {
		count := 0
		for _, one := range of {
			if refused[one.name] {
				count++
			}
		}
		fmt.Printf(" %17d", count)
	}
	fmt.Println()
}

// times prints the time of each program, and which of them refuse what all should accept.
func times(name string, runs []outcome, sound bool) {
	fmt.Printf("%-50s", name)
	for _, run := range runs {
		seconds := fmt.Sprintf("%.2f", run.longest.Seconds())
		if sound && len(run.refused) > 0 {
			seconds = "refused in " + seconds
		}
		fmt.Printf(" %17s", seconds)
	}
	fmt.Println()
}
