package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
	"kubewright.dev/tests/judges/harness"
)

const reference = "#/definitions/"

type object = map[string]any

// schemas are what OpenAPI says of all types, by their names.
type schemas map[string]object

// readSchemas asks a cluster, which publishes custom resources a little after their definitions.
func readSchemas(cluster *harness.Cluster) (schemas, error) {
	var document struct {
		Definitions schemas `json:"definitions"`
	}
	err := harness.Eventually(func() error {
		text, err := cluster.Kubectl("get", "--raw", "/openapi/v2")
		if err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			return fmt.Errorf("reading OpenAPI: %w", err)
		}
		if document.Definitions.of("judge.example.com/v1", "Widget") == nil {
			return errors.New("OpenAPI has no schema of the custom resources")
		}
		return nil
	})
	return document.Definitions, err
}

// kinds are the kinds that a type has: options of requests have one in each group.
func kinds(schema object) []object {
	var found []object
	listed, _ := schema["x-kubernetes-group-version-kind"].([]any)
	for _, one := range listed {
		if kind, is := one.(object); is {
			found = append(found, kind)
		}
	}
	return found
}

// of is the schema of a kind.
func (s schemas) of(apiVersion, kind string) object {
	for _, schema := range s {
		named := kinds(schema)
		if len(named) == 1 && named[0]["kind"] == kind && strings.TrimPrefix(fmt.Sprintf("%v/%v", named[0]["group"], named[0]["version"]), "/") == apiVersion {
			return schema
		}
	}
	return nil
}

// resolve follows a reference.
func (s schemas) resolve(schema object) object {
	if name, is := schema["$ref"].(string); is {
		return s[strings.TrimPrefix(name, reference)]
	}
	return schema
}

// write writes a JSON schema for each kind, as those that are published for kubeconform: strict, and nulls are allowed. Those of
// custom resources are made of their definitions, as kubeconform's own script makes them: OpenAPI has less.
func (s schemas) write(definitions, into string) error {
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	for name, definition := range s {
		named := kinds(definition)
		if len(named) != 1 {
			continue
		}
		used := object{}
		s.use(name, used)
		if properties, is := used[name].(object)["properties"].(object); is {
			properties["kind"] = object{"type": "string", "enum": []any{named[0]["kind"]}}
		}
		if err := writeSchema(into, named[0], object{"$ref": reference + name, "definitions": used}); err != nil {
			return err
		}
	}
	paths, err := filepath.Glob(filepath.Join(definitions, "*.yaml"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := writeCustom(path, into); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func writeCustom(path, into string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	documents := yaml.NewDecoder(file)
	for {
		var definition struct {
			Kind string
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct {
						OpenAPIV3Schema object `yaml:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := documents.Decode(&definition); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if definition.Kind != "CustomResourceDefinition" {
			continue
		}
		for _, version := range definition.Spec.Versions {
			schema := strict(version.Schema.OpenAPIV3Schema, func(string) {})
			// Definitions need not say what every object has.
			delete(schema, "additionalProperties")
			named := object{"group": definition.Spec.Group, "version": version.Name, "kind": definition.Spec.Names.Kind}
			if err := writeSchema(into, named, schema); err != nil {
				return err
			}
		}
	}
}

func writeSchema(into string, kind, schema object) error {
	text, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(into, schemaFile(kind)), text, 0o644)
}

// schemaFile is the name by kubeconform's template: deployment-apps-v1.json, pod-v1.json.
func schemaFile(kind object) string {
	group := strings.Split(fmt.Sprint(kind["group"]), ".")[0]
	if group != "" {
		group += "-"
	}
	return strings.ToLower(fmt.Sprintf("%v-%s%v.json", kind["kind"], group, kind["version"]))
}

// use adds a type and those that it refers to.
func (s schemas) use(name string, used object) {
	if _, known := used[name]; known {
		return
	}
	used[name] = object{}
	used[name] = strict(s[name], func(referred string) { s.use(referred, used) })
}

// strict copies a schema: an object has no fields but its own, each may be null, and an integer or a string is either.
func strict(schema object, refer func(string)) object {
	if schema["format"] == "int-or-string" {
		return object{"oneOf": []any{object{"type": "string"}, object{"type": "integer"}}}
	}
	if isQuantity(schema) {
		return object{"oneOf": []any{object{"type": "string"}, object{"type": "number"}}}
	}
	copied := object{}
	for key, value := range schema {
		nested, isObject := value.(object)
		switch {
		case key == "properties" && isObject:
			copied[key] = nullable(nested, refer)
		case isObject:
			copied[key] = strict(nested, refer)
		case key == "$ref":
			refer(strings.TrimPrefix(fmt.Sprint(value), reference))
			copied[key] = value
		default:
			copied[key] = value
		}
	}
	if _, has := copied["properties"]; has && copied["additionalProperties"] == nil && schema["x-kubernetes-preserve-unknown-fields"] != true {
		copied["additionalProperties"] = false
	}
	return copied
}

func nullable(properties object, refer func(string)) object {
	copied := object{}
	for name, property := range properties {
		schema, _ := property.(object)
		schema = strict(schema, refer)
		if kind, is := schema["type"].(string); is {
			schema["type"] = []any{kind, "null"}
		} else if schema["$ref"] != nil {
			schema = object{"anyOf": []any{schema, object{"type": "null"}}}
		}
		copied[name] = schema
	}
	return copied
}

// isQuantity knows the type by its description: its schema says that it is a string, but numbers are read as well.
func isQuantity(schema object) bool {
	description, _ := schema["description"].(string)
	return strings.HasPrefix(description, "Quantity is a fixed-point")
}
