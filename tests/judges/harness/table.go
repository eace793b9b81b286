package harness

import (
	"errors"
	"fmt"
	"os"
)

// Line is what came of a part of a judge.
type Line struct {
	Name                    string
	Passed, Failed, Skipped int
	Seconds                 float64
	// On the real programs, if the judge runs on them, too.
	RealPassed, RealFailed int
	RealSeconds            float64
}

// Table prints lines as they come, and their sum.
type Table struct {
	real bool
	sum  Line
}

// NewTable prints the head of a table; what a line is about is the name of the first column.
func NewTable(what string, real bool) *Table {
	fmt.Printf("%-52s %7s %7s %7s %9s", what, "passed", "failed", "skipped", "seconds")
	if real {
		fmt.Printf(" %12s %12s %6s", "real failed", "real seconds", "ratio")
	}
	fmt.Println()
	return &Table{real: real, sum: Line{Name: "sum"}}
}

// Add prints a line and adds it to the sum.
func (t *Table) Add(line Line) {
	t.print(line)
	t.sum.Passed += line.Passed
	t.sum.Failed += line.Failed
	t.sum.Skipped += line.Skipped
	t.sum.Seconds += line.Seconds
	t.sum.RealPassed += line.RealPassed
	t.sum.RealFailed += line.RealFailed
	t.sum.RealSeconds += line.RealSeconds
}

// Sum is the sum of the lines so far.
func (t *Table) Sum() Line {
	return t.sum
}

func (t *Table) print(line Line) {
	fmt.Printf("%-52s %7d %7d %7d %9.2f", line.Name, line.Passed, line.Failed, line.Skipped, line.Seconds)
	if t.real {
		fmt.Printf(" %12d %12.2f %6.1f", line.RealFailed, line.RealSeconds, line.RealSeconds/line.Seconds)
	}
	fmt.Println()
}

// Close prints the sum and records it. It fails if anything failed on the embedded API server, or if nothing passed.
func (t *Table) Close(judge string) error {
	t.print(t.sum)
	if err := Record(judge, t.sum); err != nil {
		return err
	}
	switch {
	case t.sum.Failed > 0:
		return fmt.Errorf("%d failed", t.sum.Failed)
	case t.sum.Passed == 0:
		return errors.New("nothing passed")
	}
	return nil
}

// Record prints what passed and failed, and appends a line to the file of the variable KUBEWRIGHT_JUDGES, from which
// tests/judges/run makes its closing table: the judge, what passed and failed, the seconds, and the same on the real programs.
func Record(judge string, sum Line) error {
	fmt.Printf("%d passed, %d failed\n", sum.Passed, sum.Failed)
	path := os.Getenv("KUBEWRIGHT_JUDGES")
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("recording the sum of a judge: %w", err)
	}
	_, err = fmt.Fprintf(file, "%s\t%d\t%d\t%.2f\t%d\t%d\t%.2f\n", judge, sum.Passed, sum.Failed, sum.Seconds,
		sum.RealPassed, sum.RealFailed, sum.RealSeconds)
	return errors.Join(err, file.Close())
}
