package main

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// mutation is a mistake: it breaks one field of a manifest.
type mutation struct{ class, path, value string }

// deviations are the mistakes that a schema shows in a manifest: at each object a field that it does not know and one that is said
// twice, for each field a value of another type, and each required field missing.
type deviations struct {
	schemas schemas
	found   []mutation
}

func (d *deviations) add(class, path, value string) {
	d.found = append(d.found, mutation{class, path, value})
}

// deviate walks a manifest along its schema.
func (s schemas) deviate(document *yaml.Node) []mutation {
	root := document.Content[0]
	d := deviations{schemas: s}
	schema := s.of(child(root, "apiVersion").Value, child(root, "kind").Value)
	d.object(root, schema, "")
	return d.found
}

func (d *deviations) walk(node *yaml.Node, schema object, path string) {
	schema = d.schemas.resolve(schema)
	kind, _ := schema["type"].(string)
	switch {
	case isQuantity(schema) || schema["format"] == "int-or-string":
		d.add("wrong-type", path, "{not: a scalar}")
	case kind == "string" || kind == "boolean":
		d.add("wrong-type", path, "12")
	case kind == "integer" || kind == "number":
		d.add("wrong-type", path, "text")
	case kind == "array":
		d.add("wrong-type", path, "text")
		d.elements(node, schema, path)
	case kind == "object" || schema["properties"] != nil:
		d.add("wrong-type", path, "text")
		d.object(node, schema, path)
	}
}

// elements of a list of scalars are alike; those of a list of objects are not.
func (d *deviations) elements(node *yaml.Node, schema object, path string) {
	items, _ := schema["items"].(object)
	for index, element := range node.Content {
		if index == 0 || element.Kind == yaml.MappingNode {
			d.walk(element, items, fmt.Sprintf("%s[%d]", path, index))
		}
	}
}

func (d *deviations) object(node *yaml.Node, schema object, path string) {
	properties, _ := schema["properties"].(object)
	if properties == nil {
		if values, is := schema["additionalProperties"].(object); is && len(node.Content) > 0 {
			d.walk(node.Content[1], values, below(path, node.Content[0].Value))
		}
		return
	}
	if schema["x-kubernetes-preserve-unknown-fields"] != true {
		d.add("unknown-field", below(path, "notAField"), "1")
	}
	if len(node.Content) > 0 && !strings.Contains(path, "[") {
		d.add("duplicate-key", below(path, node.Content[0].Value), twice)
	}
	required, _ := schema["required"].([]any)
	for index := 0; index < len(node.Content); index += 2 {
		name := node.Content[index].Value
		if path == "" && (name == "apiVersion" || name == "kind") {
			continue
		}
		if slices.Contains(required, any(name)) {
			d.add("missing-field", below(path, name), removed)
		}
		if property, is := properties[name].(object); is {
			d.walk(node.Content[index+1], property, below(path, name))
		}
	}
}
