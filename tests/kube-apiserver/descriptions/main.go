// Writes the descriptions of Kubernetes' types and of their fields, as the API server publishes them, for the embedded one:
// those of the types that its table has, and of their lists.
package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

const (
	types = "../../apiserver/apimachinery/src/types.txt"
	head  = `# Written by tests/kube-apiserver/declare from the definitions of Kubernetes; do not edit.
#
# ` + "`type <name>`, its description, and `<field><tab><description>`.\n"
)

func main() {
	wanted, err := wanted()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	found := map[string]spec.Schema{}
	reference := func(path string) spec.Ref { return spec.MustCreateRef(path) }
	for path, definition := range openapi.GetOpenAPIDefinitions(reference) {
		if name := name(path); wanted[name] || wanted[strings.TrimSuffix(name, "List")] {
			found[name] = definition.Schema
		}
	}
	var names []string
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Print(head)
	for _, name := range names {
		fmt.Printf("\ntype %s\n%s\n", name, line(found[name].Description))
		var fields []string
		for field, schema := range found[name].Properties {
			if text := schema.Description; text != "" && !isOfEveryKind(field, text) {
				fields = append(fields, field+"\t"+line(text))
			}
		}
		slices.Sort(fields)
		for _, field := range fields {
			fmt.Println(field)
		}
	}
}

// The name of a type in the table, of its name among the definitions.
func name(path string) string {
	path = strings.TrimPrefix(path, "k8s.io/")
	path = strings.TrimPrefix(path, "io.k8s.")
	return strings.ReplaceAll(path, "/", ".")
}

// Where an object says what it is, which the embedded server says of every kind.
func isOfEveryKind(field, text string) bool {
	return field == "apiVersion" && strings.HasPrefix(text, "APIVersion defines the versioned schema of this") ||
		field == "kind" && strings.HasPrefix(text, "Kind is a string value representing the REST resource")
}

// The types of the table, and those that have a form of their own.
func wanted() (map[string]bool, error) {
	file, err := os.Open(types)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all := map[string]bool{
		"apimachinery.pkg.api.resource.Quantity": true,
		"apimachinery.pkg.apis.meta.v1.FieldsV1": true,
		"apimachinery.pkg.runtime.RawExtension":  true,
	}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == "type" {
			all[words[1]] = true
		}
	}
	return all, lines.Err()
}

// One line, without the values of an enumeration, which the embedded server writes itself.
func line(text string) string {
	text, _, _ = strings.Cut(text, "Possible enum values:")
	text = strings.TrimRight(text, " \n")
	return strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), "\n", `\n`)
}
