package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"kubewright.dev/tests/judges/harness"
)

// many is the number of manifests that are read for their time.
const many = 1000

// measure prints how long each program takes for what is valid: many files, a chart, and the largest file that kubeconform tests
// itself with.
func measure(command, definitions string, others []tool, work string) error {
	for _, one := range []struct {
		name  string
		files func() ([]manifest, error)
		// ours has no definitions where the files bring their own or need none, as behind `helm template`.
		ours tool
	}{
		{fmt.Sprintf("%d valid files", many), copies, ours(command, definitions)},
		{"the chart of cert-manager", chart, ours(command)},
		{"100,000 objects in one list", list, ours(command)},
	} {
		tools := append([]tool{one.ours}, others...)
		files, err := one.files()
		if err != nil {
			return err
		}
		folder := filepath.Join(work, "measured")
		if err := write(files, folder); err != nil {
			return err
		}
		var runs []outcome
		for _, tool := range tools {
			run, err := tool.run(folder, repeats)
			if err != nil {
				return err
			}
			runs = append(runs, run)
		}
		times(one.name+", seconds", runs, func(run outcome) string {
			if len(run.refused) > 0 {
				return "refused in " + seconds(run.longest)
			}
			return seconds(run.longest)
		})
		times("  of processors", runs, func(run outcome) string { return seconds(run.computed) })
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	return nil
}

// copies are the valid manifests of this judge again and again, under other names.
func copies() ([]manifest, error) {
	paths, err := filepath.Glob("manifests/*.yaml")
	if err != nil {
		return nil, err
	}
	c := collection{names: map[string]int{}}
	for number := range many {
		path := paths[number%len(paths)]
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		c.add(valid, stem(path), "", string(text))
	}
	return c.manifests, nil
}

// chart is what Helm makes of cert-manager's chart: definitions of a megabyte, and the objects of three programs.
func chart() ([]manifest, error) {
	kept, err := harness.Kept("helm")
	if err != nil {
		return nil, err
	}
	helm, err := harness.Build("../helm", filepath.Join(kept, "v4"), "helm.sh/helm/v4/cmd/helm")
	if err != nil {
		return nil, err
	}
	sources, err := harness.ModuleFolder("../helm", "github.com/cert-manager/cert-manager")
	if err != nil {
		return nil, err
	}
	rendered, err := exec.Command(helm, "template", "cert-manager", filepath.Join(sources, "deploy", "charts", "cert-manager"),
		"--namespace", "cert-manager", "--set", "crds.enabled=true").Output()
	if err != nil {
		return nil, fmt.Errorf("rendering the chart of cert-manager: %w", err)
	}
	return []manifest{{"chart.yaml", valid, rendered}}, nil
}

// list is the file that is too large to be among the others.
func list() ([]manifest, error) {
	module, err := harness.ModuleFolder("kubeconform", kubeconform.name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(module, "fixtures", "valid_large.yaml"))
	return []manifest{{"list.yaml", valid, text}}, err
}
