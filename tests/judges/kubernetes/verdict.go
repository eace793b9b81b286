// What became of the specs, held to the list.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"kubewright.dev/tests/judges/harness"
)

func say(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "kubernetes: "+format+"\n", values...)
}

// outcome is what became of the specs on one control plane; there are no results if they were not run on it.
type outcome struct {
	results map[string]result
	took    time.Duration
}

// judge prints every spec of a batch that is not what the list says, and the sums.
func judge(batch batch, ours, theirs outcome) error {
	results := ours.results
	passed, failed, surprises := 0, 0, 0
	for _, one := range batch.specs {
		result, ran := results[one.name]
		if result.state == "passed" {
			passed++
			if one.verdict == fail {
				surprises++
				fmt.Printf("passes, list it as passing: %s\n", one.name)
			}
			continue
		}
		failed++
		if one.verdict != fail {
			surprises++
		}
		if !ran {
			result.state = "not run"
		}
		fmt.Printf("%s (%.0f s): %s\n    %s\n", result.state, result.seconds, one.name,
			strings.ReplaceAll(shorten(result.failure, 600), "\n", "\n    "))
	}
	for _, node := range []string{"SynchronizedBeforeSuite", "SynchronizedAfterSuite"} {
		if broken, ok := results[node]; ok {
			surprises++
			fmt.Printf("%s failed: %s\n", node, shorten(broken.failure, 2000))
		}
	}
	line := harness.Line{Passed: passed, Failed: failed, Seconds: ours.took.Seconds()}
	if theirs.results != nil {
		line.RealSeconds = theirs.took.Seconds()
		for _, one := range batch.specs {
			if theirs.results[one.name].state == "passed" {
				line.RealPassed++
				continue
			}
			line.RealFailed++
			say("not passed on the real control plane: %s", one.name)
		}
	}
	if err := harness.Record(batch.name, line); err != nil {
		return err
	}
	if surprises > 0 {
		return fmt.Errorf("judging: %d specs are not what specs.tsv says", surprises)
	}
	if passed == 0 {
		return errors.New("judging: no spec passed")
	}
	return nil
}

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:most] + fmt.Sprintf(" … (%d bytes)", len(text))
}
