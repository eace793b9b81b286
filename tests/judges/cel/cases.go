package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"cel.dev/expr/conformance/test"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"

	// The messages that values of the cases are of.
	_ "cel.dev/expr/conformance/proto2"
	_ "cel.dev/expr/conformance/proto3"
)

// Case is one test of a file.
type Case struct {
	File, Section string
	Test          *test.SimpleTest
}

func (c Case) name() string {
	return c.File + "/" + c.Section + "/" + c.Test.Name
}

// readCases reads every file of a folder.
func readCases(folder string) ([]Case, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.textproto"))
	if err != nil {
		return nil, err
	}
	var cases []Case
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file := &test.SimpleTestFile{}
		if err := prototext.Unmarshal(text, file); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".textproto")
		for _, section := range file.Section {
			for _, one := range section.Test {
				cases = append(cases, Case{name, section.Name, one})
			}
		}
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("no cases in %s", folder)
	}
	return cases, nil
}

// readExpressions reads the cases of a file with an expression a line; what the API server does with them is expected.
func readExpressions(file string) ([]Case, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var cases []Case
	for number, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if !strings.HasPrefix(line, "#") {
			one := &test.SimpleTest{Name: fmt.Sprintf("line %d", number+1), Expr: line}
			cases = append(cases, Case{"kubernetes", "expressions", one})
		}
	}
	return cases, nil
}

// lines writes a case a line, in the JSON of protobuf.
func lines(cases []Case) ([]byte, error) {
	var all bytes.Buffer
	for _, one := range cases {
		message, err := protojson.Marshal(one.Test)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", one.name(), err)
		}
		// A message may be written on several lines.
		if err := json.Compact(&all, message); err != nil {
			return nil, err
		}
		all.WriteByte('\n')
	}
	return all.Bytes(), nil
}
