package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"kubewright.dev/tests/judges/harness"
)

const (
	// accepted in exceptions.tsv: the API server accepts what counts as broken.
	accepted = "accepted"
	// refused in exceptions.tsv: the API server refuses what counts as valid.
	refused = "refused"
	// kubectl in exceptions.tsv: kubectl does not come to what the API server says.
	kubectl = "kubectl"
	// differs in exceptions.tsv: kubewright check says something else than the API server.
	differs = "differs"
)

// exception is a reason why some manifests are other than they seem.
type exception struct{ what, pattern, reason string }

// judged is what programs say of manifests.
type judged struct {
	manifests  []manifest
	exceptions []exception
	tools      []tool
	runs       []outcome
	times      int
	// real is what the real API server refuses, if it was asked, which took so long.
	real     map[string]bool
	realTook time.Duration
}

// judge runs each program on the manifests in a folder, a few times: its longest time counts.
func judge(manifests []manifest, tools []tool, folder string, times int) (*judged, error) {
	rows, err := readRows("exceptions.tsv", 3)
	if err != nil {
		return nil, err
	}
	j := &judged{manifests: manifests, tools: tools, times: times}
	for _, row := range rows {
		if !slices.Contains([]string{accepted, refused, kubectl, differs}, row[0]) || row[2] == "" {
			return nil, fmt.Errorf("exceptions.tsv: %q is no exception with a reason", strings.Join(row, " "))
		}
		j.exceptions = append(j.exceptions, exception{row[0], row[1], row[2]})
	}
	for _, tool := range tools {
		run, err := tool.run(folder, times)
		if err != nil {
			return nil, err
		}
		j.runs = append(j.runs, run)
	}
	return j, nil
}

func (j *judged) excepted(what string, one manifest) bool {
	return slices.ContainsFunc(j.exceptions, func(exception exception) bool {
		return exception.what == what && exception.matches(one)
	})
}

func (e exception) matches(one manifest) bool {
	matches, err := path.Match(e.pattern, one.name)
	return err == nil && matches
}

// broken says whether the API server refuses a manifest.
func (j *judged) broken(one manifest) bool {
	if one.broken() {
		return !j.excepted(accepted, one)
	}
	return j.excepted(refused, one)
}

// problems are all that fails the judge.
func (j *judged) problems() []string {
	var found []string
	say := func(one manifest, format string, arguments ...any) {
		found = append(found, one.name+": "+fmt.Sprintf(format, arguments...))
	}
	for _, one := range j.manifests {
		broken := j.broken(one)
		if j.real != nil && !j.excepted(kubectl, one) && j.real[one.name] != broken {
			say(one, "the real API server %s it, against its class and exceptions.tsv", verb(j.real[one.name]))
		}
		if j.runs[0].refused[one.name] != broken && !j.excepted(differs, one) {
			say(one, "kubewright check %s it, the API server does not%s", verb(j.runs[0].refused[one.name]), j.others(one))
		}
	}
	for _, exception := range j.exceptions {
		found = append(found, j.outdated(exception)...)
	}
	return found
}

// others names who refuses a manifest that ours accepts.
func (j *judged) others(one manifest) string {
	var names []string
	for index, tool := range j.tools[1:] {
		if j.runs[index+1].refused[one.name] && !j.runs[0].refused[one.name] {
			names = append(names, tool.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; refused by " + strings.Join(names, " and ")
}

func verb(refused bool) string {
	if refused {
		return "refuses"
	}
	return "accepts"
}

// outdated tells which manifests no longer need an exception.
func (j *judged) outdated(exception exception) []string {
	var found []string
	matched := 0
	for _, one := range j.manifests {
		if !exception.matches(one) {
			continue
		}
		matched++
		needed := true
		switch exception.what {
		case accepted:
			needed = one.broken()
		case refused:
			needed = !one.broken()
		case kubectl:
			needed = j.real == nil || j.real[one.name] != j.broken(one)
		case differs:
			needed = j.runs[0].refused[one.name] != j.broken(one)
		}
		if !needed {
			found = append(found, fmt.Sprintf("%s: no longer an exception (%s)", one.name, exception.what))
		}
	}
	if matched == 0 {
		found = append(found, fmt.Sprintf("exceptions.tsv: no manifest is called %s", exception.pattern))
	}
	return found
}

// close prints the problems, records what came of the judge, and fails if there are any.
func (j *judged) close() error {
	problems := j.problems()
	for _, problem := range problems {
		fmt.Println(problem)
	}
	sum := harness.Line{Name: "check", Failed: min(len(problems), len(j.manifests)), Seconds: j.runs[0].longest.Seconds()}
	sum.Passed = len(j.manifests) - sum.Failed
	if j.real != nil {
		sum.RealPassed, sum.RealSeconds = len(j.manifests), j.realTook.Seconds()
	}
	if err := harness.Record("check", sum); err != nil {
		return err
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d manifests or exceptions are not as they should be", len(problems))
	}
	return nil
}
