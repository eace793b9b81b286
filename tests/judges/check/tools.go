package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"kubewright.dev/tests/judges/harness"
)

// module is one that a directory of this judge pins, and the package of its program.
type module struct{ name, program string }

var (
	kubeconform     = module{"github.com/yannh/kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform"}
	kubectlValidate = module{"sigs.k8s.io/kubectl-validate", "sigs.k8s.io/kubectl-validate"}
)

// builtInSchemas is the newest version of Kubernetes that kubectl-validate brings.
const builtInSchemas = "1.30"

// build compiles the program of a module, each of which has the dependencies that its project has released it with.
func build(folder string, of module) (string, error) {
	kept, err := harness.Kept("check")
	if err != nil {
		return "", err
	}
	program := filepath.Join(kept, filepath.Base(of.program))
	command := harness.Golang(folder, "build", "-ldflags=-s -w", "-o", program, of.program)
	command.Stdout = os.Stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("building %s: %w", of.program, err)
	}
	return program, nil
}

// tool is a program that looks at all manifests of a folder at once.
type tool struct {
	name string
	call func(folder string) *exec.Cmd
	// refused reads from the output of the program which files it refuses.
	refused func(output []byte) (map[string]bool, error)
}

func ours(command string, definitions ...string) tool {
	return tool{
		"kubewright",
		func(folder string) *exec.Cmd {
			called := exec.Command(command, "check", "--output", "json", folder)
			for _, each := range definitions {
				called.Args = append(called.Args, "--crd", each)
			}
			return called
		},
		func(output []byte) (map[string]bool, error) {
			var report struct {
				Findings []struct {
					Severity string
					Location *struct{ Source string }
					Message  string
				}
			}
			if err := json.Unmarshal(output, &report); err != nil {
				return nil, err
			}
			files := map[string]bool{}
			for _, finding := range report.Findings {
				switch {
				case finding.Location == nil:
					return nil, errors.New(finding.Message)
				case finding.Severity == "error":
					files[filepath.Base(finding.Location.Source)] = true
				}
			}
			return files, nil
		},
	}
}

// kubeconform knows no kind by itself, and would fetch schemas; here it has those of the server, and no network.
func theirs(conform, schemas string) tool {
	return tool{
		"kubeconform",
		func(folder string) *exec.Cmd {
			location := filepath.Join(schemas, "{{ .ResourceKind }}{{ .KindSuffix }}.json")
			called := exec.Command(conform, "-strict", "-output", "json", "-schema-location", location, folder)
			called.Env = append(os.Environ(), "HTTPS_PROXY=127.0.0.1:1", "HTTP_PROXY=127.0.0.1:1")
			return called
		},
		func(output []byte) (map[string]bool, error) {
			var report struct {
				Resources []struct{ Filename, Status string }
			}
			if err := json.Unmarshal(output, &report); err != nil {
				return nil, err
			}
			files := map[string]bool{}
			for _, resource := range report.Resources {
				if resource.Status != "statusValid" {
					files[filepath.Base(resource.Filename)] = true
				}
			}
			return files, nil
		},
	}
}

func validate(program, definitions string) tool {
	return tool{
		"kubectl-validate",
		func(folder string) *exec.Cmd {
			called := exec.Command(program, "--version", builtInSchemas, "--local-crds", definitions, "--output", "json", folder)
			// It asks a cluster for schemas, if it finds one.
			called.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull, "HTTPS_PROXY=127.0.0.1:1")
			return called
		},
		func(output []byte) (map[string]bool, error) {
			report := map[string][]struct{ Status string }{}
			if err := json.Unmarshal(output, &report); err != nil {
				return nil, err
			}
			files := map[string]bool{}
			for path, documents := range report {
				for _, document := range documents {
					if document.Status != "Success" {
						files[filepath.Base(path)] = true
					}
				}
			}
			return files, nil
		},
	}
}

// outcome is what came of running a program: the files that it refuses, its longest time, and the most that it took of processors,
// which depends less on what else the machine does.
type outcome struct {
	refused           map[string]bool
	longest, computed time.Duration
}

// run runs a program on a folder a few times.
func (t tool) run(folder string, times int) (outcome, error) {
	var output []byte
	var longest, computed time.Duration
	for range times {
		called := t.call(folder)
		began := time.Now()
		printed, err := called.Output()
		longest = max(longest, time.Since(began))
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			return outcome{}, fmt.Errorf("running %s: %w", t.name, err)
		}
		computed = max(computed, called.ProcessState.UserTime()+called.ProcessState.SystemTime())
		output = printed
	}
	refused, err := t.refused(output)
	if err != nil {
		return outcome{}, fmt.Errorf("reading what %s prints: %w", t.name, err)
	}
	return outcome{refused, longest, computed}, nil
}
