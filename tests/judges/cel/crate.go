package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	expr "cel.dev/expr"
	"google.golang.org/protobuf/encoding/protojson"
)

// line is what the example of the crate writes of a case.
type line struct {
	Refused, Failed, Unsupported, Type, Opaque string
	Value                                      json.RawMessage
	Cost                                       uint64
}

// inCrate is what the crate does with the cases, in one process of its example.
func inCrate(cases []Case, minor uint) ([]outcome, error) {
	input, err := lines(cases)
	if err != nil {
		return nil, err
	}
	command := exec.Command("cargo", "run", "-q", "-p", "kubewright-cel", "--example", "conformance", "--", fmt.Sprintf("1.%d", minor))
	command.Dir = filepath.Join("..", "..", "..")
	command.Stdin = bytes.NewReader(input)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("running the example conformance of kubewright-cel: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(output))
	var outcomes []outcome
	for decoder.More() {
		var one line
		if err := decoder.Decode(&one); err != nil {
			return nil, fmt.Errorf("reading an outcome: %w", err)
		}
		done := outcome{
			refused: one.Refused, failed: one.Failed, unsupported: one.Unsupported, deduced: one.Type, opaque: one.Opaque,
			cost: one.Cost,
		}
		if one.Value != nil {
			done.value = &expr.Value{}
			if err := protojson.Unmarshal(one.Value, done.value); err != nil {
				return nil, fmt.Errorf("reading the value %s: %w", one.Value, err)
			}
		}
		outcomes = append(outcomes, done)
	}
	if len(outcomes) != len(cases) {
		return nil, fmt.Errorf("%d outcomes of %d cases", len(outcomes), len(cases))
	}
	return outcomes, nil
}
