package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"kubewright.dev/tests/judges/harness"
)

// valid is the class of manifests without a mistake.
const valid = "valid"

// published is the class of manifests that another project publishes as broken.
const published = "published"

// manifest is a file of the folder that everything runs on. Its name says all of it: class.manifest.field.yaml.
type manifest struct {
	name, class string
	text        []byte
}

func (m manifest) broken() bool { return m.class != valid }

// collection collects manifests under different names, and numbers them: no object is in two of them.
type collection struct {
	manifests []manifest
	names     map[string]int
}

// add adds a manifest; its objects may have the number in their names.
func (c *collection) add(class, from, path, text string) {
	name := strings.Join([]string{class, from, fileName(path)}, ".")
	name = strings.Trim(name, ".")
	c.names[name]++
	if same := c.names[name]; same > 1 {
		name = fmt.Sprintf("%s.%d", name, same)
	}
	text = strings.ReplaceAll(text, "NUMBER", fmt.Sprint(len(c.manifests)+1))
	c.manifests = append(c.manifests, manifest{name + ".yaml", class, []byte(text)})
}

// collect makes all manifests: those of this judge, whole and with one mistake each, and what the other projects publish.
func collect(schemas schemas) ([]manifest, error) {
	c := collection{names: map[string]int{}}
	if err := c.mutate(schemas); err != nil {
		return nil, err
	}
	if err := c.handwritten(); err != nil {
		return nil, err
	}
	err := c.published()
	return c.manifests, err
}

// handwritten adds what no change of one field makes: files that are no manifests, and ones that only look broken.
func (c *collection) handwritten() error {
	for _, pattern := range []string{"broken/*/*.yaml", "sound/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			class := filepath.Base(filepath.Dir(path))
			if class == "sound" {
				class = valid
			}
			c.add(class, stem(path), "", string(text))
		}
	}
	return nil
}

func (c *collection) mutate(schemas schemas) error {
	paths, err := filepath.Glob("manifests/*.yaml")
	if err != nil {
		return err
	}
	table, err := readRows("mutations.tsv", 4)
	if err != nil {
		return err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := stem(path)
		c.add(valid, name, "", string(text))
		document, err := parse(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		mutations := schemas.deviate(document)
		for _, row := range table {
			if row[1] == "*" || slices.Contains(strings.Split(row[1], ","), name) {
				mutations = append(mutations, mutation{row[0], row[2], row[3]})
			}
		}
		for _, mutation := range mutations {
			if err := c.mutated(name, text, mutation); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return nil
}

func (c *collection) mutated(name string, text []byte, mutation mutation) error {
	document, err := parse(text)
	if err != nil {
		return err
	}
	if err := change(document, mutation.path, mutation.value); err != nil {
		return err
	}
	changed, err := yaml.Marshal(document)
	if err != nil {
		return err
	}
	if bytes.Equal(changed, text) {
		return fmt.Errorf("%s: %s changes nothing", mutation.path, mutation.value)
	}
	c.add(mutation.class, name, mutation.path, string(changed))
	return nil
}

// published adds the manifests that the other projects test themselves with. kubectl-validate says of a file that it is broken by its
// name; what kubeconform refuses is in the table, as its acceptance tests have it.
func (c *collection) published() error {
	broken, err := readRows("published.tsv", 2)
	if err != nil {
		return err
	}
	refused := map[string]bool{}
	for _, row := range broken {
		refused[row[0]] = true
	}
	for _, source := range []struct{ from, module, pattern string }{
		{"kubeconform", kubeconform.name, "fixtures/*.yaml"},
		{"kubectl-validate", kubectlValidate.name, "testcases/manifests/*"},
	} {
		module, err := harness.ModuleFolder(source.from, source.module)
		if err != nil {
			return err
		}
		paths, err := filepath.Glob(filepath.Join(module, filepath.FromSlash(source.pattern)))
		if err != nil {
			return err
		}
		if len(paths) == 0 {
			return fmt.Errorf("%s publishes no manifests", source.module)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			class, file := valid, filepath.Base(path)
			if refused[file] || strings.HasPrefix(file, "error_") {
				class = published
				delete(refused, file)
			}
			if len(text) < largest {
				c.add(class, source.from+"."+stem(strings.TrimSuffix(path, ".disabled")), "", string(text))
			}
		}
	}
	for file := range refused {
		return fmt.Errorf("published.tsv has %s, which is not published", file)
	}
	return nil
}

// largest is the size in bytes from which a file is for measuring time.
const largest = 1 << 20

// write writes manifests into an empty folder.
func write(manifests []manifest, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, one := range manifests {
		if err := os.WriteFile(filepath.Join(folder, one.name), one.text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// collectDefinitions copies the definitions of this judge and of kubectl-validate to where nothing else is.
func collectDefinitions(into string) error {
	validate, err := harness.ModuleFolder("kubectl-validate", kubectlValidate.name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	for _, pattern := range []string{
		"definitions/*.yaml",
		filepath.Join(validate, "testcases", "crds", "*.yaml"),
		filepath.Join(validate, "testcases", "more-crds", "*.yaml"),
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if !bytes.Contains(text, []byte("kind: CustomResourceDefinition")) {
				continue
			}
			if err := os.WriteFile(filepath.Join(into, filepath.Base(path)), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func parse(text []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, errors.New("there is no document")
	}
	return &document, nil
}

func stem(path string) string {
	return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
}

// readRows reads a table with comments.
func readRows(path string, columns int) ([][]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for number, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.Split(line, "\t")
		if len(row) != columns {
			return nil, fmt.Errorf("%s: line %d has %d columns instead of %d", path, number+1, len(row), columns)
		}
		rows = append(rows, row)
	}
	return rows, nil
}
