package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// removed in place of a value takes the field away.
	removed = "(removed)"
	// twice in place of a value says the field again.
	twice = "(twice)"
)

// step is one part of a path: .name, ["a name with dots"] or [number].
var step = regexp.MustCompile(`^\.?(?:([A-Za-z0-9_-]+)|\["([^"]*)"\]|\[(\d+)\])`)

// steps are the parts of a path such as spec.ports[0].name: names, and numbers as int.
func steps(path string) ([]any, error) {
	var found []any
	for rest := path; rest != ""; {
		match := step.FindStringSubmatch(rest)
		switch {
		case match == nil:
			return nil, fmt.Errorf("%q is no path", path)
		case match[3] != "":
			number, err := strconv.Atoi(match[3])
			if err != nil {
				return nil, fmt.Errorf("%q is no path: %w", path, err)
			}
			found = append(found, number)
		default:
			found = append(found, match[1]+match[2])
		}
		rest = rest[len(match[0]):]
	}
	return found, nil
}

// below is the path of a field of an object.
func below(path, name string) string {
	switch {
	case !regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(name):
		return fmt.Sprintf("%s[%q]", path, name)
	case path == "":
		return name
	default:
		return path + "." + name
	}
}

// change sets a field of a document, removes it, or says it twice. All but its last step has to exist.
func change(document *yaml.Node, path, value string) error {
	parts, err := steps(path)
	if err != nil {
		return err
	}
	at := document.Content[0]
	for _, part := range parts[:len(parts)-1] {
		if at = child(at, part); at == nil {
			return fmt.Errorf("the manifest has nothing at %v of %s", part, path)
		}
	}
	last := parts[len(parts)-1]
	if value == removed || value == twice {
		return again(at, last, value == removed)
	}
	var parsed yaml.Node
	if err := yaml.Unmarshal([]byte(value), &parsed); err != nil {
		return fmt.Errorf("the value of %s: %w", path, err)
	}
	return set(at, last, parsed.Content[0])
}

func child(of *yaml.Node, part any) *yaml.Node {
	if index := position(of, part); index >= 0 {
		return of.Content[index]
	}
	return nil
}

// position is where a node has the value of a field or an element; -1 if it has none.
func position(of *yaml.Node, part any) int {
	switch part := part.(type) {
	case int:
		if of.Kind == yaml.SequenceNode && part < len(of.Content) {
			return part
		}
	case string:
		for index := 0; of.Kind == yaml.MappingNode && index < len(of.Content); index += 2 {
			if of.Content[index].Value == part {
				return index + 1
			}
		}
	}
	return -1
}

func again(at *yaml.Node, part any, remove bool) error {
	index := position(at, part)
	name, isField := part.(string)
	switch {
	case index < 0:
		return fmt.Errorf("the manifest has no %v", part)
	case !remove && !isField:
		return fmt.Errorf("%v is an element, which is not said twice by its name", part)
	case !remove:
		at.Content = append(at.Content, scalar(name), at.Content[index])
	case isField:
		at.Content = slices.Delete(at.Content, index-1, index+1)
	default:
		at.Content = slices.Delete(at.Content, index, index+1)
	}
	return nil
}

func set(at *yaml.Node, part any, value *yaml.Node) error {
	if index := position(at, part); index >= 0 {
		at.Content[index] = value
		return nil
	}
	switch part := part.(type) {
	case string:
		if at.Kind != yaml.MappingNode {
			return fmt.Errorf("the manifest has no object for %s", part)
		}
		at.Content = append(at.Content, scalar(part), value)
	case int:
		if at.Kind != yaml.SequenceNode || part != len(at.Content) {
			return fmt.Errorf("the manifest has no list for element %d", part)
		}
		at.Content = append(at.Content, value)
	}
	return nil
}

func scalar(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

// fileName is a path as a part of a file's name.
func fileName(path string) string {
	return strings.Trim(regexp.MustCompile(`[^A-Za-z0-9_-]+`).ReplaceAllString(path, "."), ".")
}
