// Command check is the judge `check`: `kubewright check`, kubeconform and kubectl-validate look at the same folder of manifests, most
// of them broken in one field. What one of the others finds, ours has to find, and nothing but what the API server refuses.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"kubewright.dev/tests/judges/harness"
)

// repeats is how often each program runs where its time counts.
const repeats = 3

func main() {
	part := flag.Bool("part", false, "run what every change has to pass: on a debug build, without what is only read for its time")
	real := flag.Bool("real", false, "ask a real API server about each manifest, too")
	build := flag.Bool("build", false, "build kubeconform and kubectl-validate, and run nothing")
	keep := flag.String("keep", "", "keep the manifests, the definitions and the schemas in this empty directory")
	flag.Parse()
	if err := compare(*part, *real, *build, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
}

func compare(part, real, only bool, keep string) error {
	conform, err := build("kubeconform", kubeconform)
	if err != nil {
		return err
	}
	validator, err := build("kubectl-validate", kubectlValidate)
	if err != nil || only {
		return err
	}
	command, err := harness.Command(!part)
	if err != nil {
		return err
	}
	work, err := filepath.Abs(keep)
	if keep == "" {
		work, err = os.MkdirTemp("", "kubewright-judge-")
		defer os.RemoveAll(work)
	}
	if err != nil {
		return err
	}
	definitions, schemaFiles := filepath.Join(work, "definitions"), filepath.Join(work, "schemas")
	if err := collectDefinitions(definitions); err != nil {
		return err
	}
	published, err := publishedSchemas(command, work, definitions, schemaFiles)
	if err != nil {
		return err
	}
	manifests, err := collect(published)
	if err != nil {
		return err
	}
	folder := filepath.Join(work, "manifests")
	if err := write(manifests, folder); err != nil {
		return err
	}
	times := repeats
	if part {
		times = 1
	}
	others := []tool{theirs(conform, schemaFiles), validate(validator, definitions)}
	tools := append([]tool{ours(command, definitions)}, others...)
	judged, err := judge(manifests, tools, folder, times)
	if err != nil {
		return err
	}
	if real {
		if err := judged.ask(definitions, folder); err != nil {
			return err
		}
	}
	judged.print()
	if !part {
		if err := measure(command, definitions, others, work); err != nil {
			return err
		}
	}
	return judged.close()
}

// publishedSchemas are those that the embedded API server publishes, also as files.
func publishedSchemas(command, work, definitions, files string) (schemas, error) {
	folder := filepath.Join(work, "embedded")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	cluster, err := harness.Embedded(command)(folder)
	if err != nil {
		return nil, err
	}
	defer cluster.Stop()
	if _, err := cluster.Kubectl("apply", "--server-side", "--filename", definitions); err != nil {
		return nil, err
	}
	read, err := readSchemas(cluster)
	if err != nil {
		return nil, err
	}
	return read, read.write(definitions, files)
}
