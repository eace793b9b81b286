package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"kubewright.dev/tests/judges/harness"
)

var (
	namespaces = regexp.MustCompile(`namespace: ([a-z][a-z0-9-]*)`)
	files      = regexp.MustCompile(`[A-Za-z0-9._-]+\.yaml`)
)

// ask asks a real API server about each manifest.
func (j *judged) ask(definitions, folder string) error {
	assets, err := harness.RealAssets()
	if err != nil {
		return err
	}
	_, err = harness.On(harness.Real(assets), func(cluster *harness.Cluster) error {
		if err := j.prepare(cluster, definitions); err != nil {
			return err
		}
		j.real, err = j.dryRun(cluster, folder)
		return err
	})
	return err
}

// prepare makes what manifests refer to, and what controllers make in every namespace.
func (j *judged) prepare(cluster *harness.Cluster, definitions string) error {
	if _, err := cluster.Kubectl("apply", "--server-side", "--filename", definitions); err != nil {
		return err
	}
	named := map[string]bool{"default": true, "kube-system": true}
	for _, one := range j.manifests {
		for _, match := range namespaces.FindAllSubmatch(one.text, -1) {
			named[string(match[1])] = true
		}
	}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(named)) {
		fmt.Fprintf(&all, "---\n{apiVersion: v1, kind: Namespace, metadata: {name: %s}}\n", name)
		fmt.Fprintf(&all, "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: %s}}\n", name)
	}
	return cluster.Apply(all.String(), "--server-side")
}

// dryRun applies everything at once as a dry run, which names the files that are refused. All others together have to pass then.
// Where kubectl is known to say something else than the API server, it is asked about each file alone.
func (j *judged) dryRun(cluster *harness.Cluster, folder string) (map[string]bool, error) {
	refused := map[string]bool{}
	var asked []manifest
	for _, one := range j.manifests {
		if !j.excepted(kubectl, one) {
			asked = append(asked, one)
		} else if dryRun(cluster, filepath.Join(folder, one.name)) != nil {
			refused[one.name] = true
		}
	}
	all := filepath.Join(cluster.Folder, "all")
	if err := write(asked, all); err != nil {
		return nil, err
	}
	began := time.Now()
	err := dryRun(cluster, all)
	j.realTook = time.Since(began)
	if err != nil {
		for _, file := range files.FindAllString(err.Error(), -1) {
			refused[file] = true
		}
	}
	rest := filepath.Join(cluster.Folder, "rest")
	if err := write(slices.DeleteFunc(asked, func(one manifest) bool { return refused[one.name] }), rest); err != nil {
		return nil, err
	}
	if err := dryRun(cluster, rest); err != nil {
		return nil, fmt.Errorf("kubectl does not name all files that it refuses: %w", err)
	}
	return refused, nil
}

func dryRun(cluster *harness.Cluster, path string) error {
	_, err := cluster.Kubectl("apply", "--dry-run=server", "--filename", path)
	return err
}
