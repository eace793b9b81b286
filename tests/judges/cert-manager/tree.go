// The sources of cert-manager: a copy of its module, with which its programs and its suites are built as its own go.mod says.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"kubewright.dev/tests/judges/harness"
)

const module = "github.com/cert-manager/cert-manager"

// tree is where the sources and the programs are.
type tree struct{ folder, programs string }

// unpack copies the module, once for each version: the suites look for files beside their sources.
func unpack() (tree, error) {
	sources, err := harness.ModuleFolder(".", module)
	if err != nil {
		return tree{}, err
	}
	kept, err := harness.Kept("cert-manager")
	if err != nil {
		return tree{}, err
	}
	unpacked := tree{filepath.Join(kept, filepath.Base(sources)), kept}
	if _, err := os.Stat(unpacked.folder); err == nil {
		return unpacked, nil
	}
	// Under another name until it is whole.
	incomplete := unpacked.folder + ".incomplete"
	if err := os.RemoveAll(incomplete); err != nil {
		return tree{}, err
	}
	if err := harness.CopyModule(sources, incomplete); err != nil {
		return tree{}, err
	}
	if err := template(incomplete); err != nil {
		return tree{}, err
	}
	return unpacked, os.Rename(incomplete, unpacked.folder)
}

// definitions is where the suites expect the definitions of custom resources.
func (t tree) definitions() string {
	return filepath.Join(t.folder, "_bin", "yaml", "templated-crds")
}

// release is a value that depends on the release in whose chart a definition is.
var release = regexp.MustCompile(`'\{\{.*\}\}'`)

// template writes the definitions as a release named cert-manager has them.
func template(folder string) error {
	into := tree{folder: folder}.definitions()
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(folder, "deploy", "crds", "crd-*.yaml"))
	if err != nil {
		return err
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading a definition of cert-manager: %w", err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".yaml") + ".templated.yaml"
		if err := os.WriteFile(filepath.Join(into, name), release.ReplaceAll(text, []byte("cert-manager")), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// programs are those of cert-manager.
type programs struct{ controller, webhook, cainjector string }

// build builds the programs with the modules that cert-manager's go.mod requires.
func (t tree) build() (programs, error) {
	for _, name := range []string{"controller", "webhook", "cainjector"} {
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(t.programs, name), "./cmd/"+name)
		build.Dir = t.folder
		build.Env = append(os.Environ(), "GOFLAGS=-mod=readonly -buildvcs=false")
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			return programs{}, fmt.Errorf("building cert-manager's %s: %w", name, err)
		}
	}
	file := func(name string) string { return filepath.Join(t.programs, name) }
	return programs{file("controller"), file("webhook"), file("cainjector")}, nil
}
