package main

import (
	"fmt"
	"slices"
	"time"
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
			class := one.class
			if class == valid {
				class = "published as valid"
			}
			classes[class] = append(classes[class], one)
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
	runs := j.runs
	if j.real != nil {
		runs = append(slices.Clone(runs), outcome{longest: j.realTook})
	}
	times(fmt.Sprintf("seconds for all, worst of %d", j.times), runs, func(run outcome) string { return seconds(run.longest) })
	times("  of processors", j.runs, func(run outcome) string { return seconds(run.computed) })
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

// times prints a time of each program.
func times(name string, runs []outcome, time func(outcome) string) {
	fmt.Printf("%-50s", name)
	for _, run := range runs {
		fmt.Printf(" %17s", time(run))
	}
	fmt.Println()
}

func seconds(time time.Duration) string {
	return fmt.Sprintf("%.2f", time.Seconds())
}
