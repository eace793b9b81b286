// Package harness has what several judges share: the programs that they run, the control planes that they run on, and the table
// of what passed in which time.
package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Root is the root of the repository. A judge runs in its own directory.
func Root() (string, error) {
	return filepath.Abs("../../..")
}

// Kept is the directory of a judge for what the next run needs again.
func Kept(judge string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(root, ".kubewright", "judges", judge)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("making the directory of the judge %s: %w", judge, err)
	}
	return folder, nil
}

// Command builds the command of this repository, unless the variable KUBEWRIGHT names a built one. Times are compared of release
// builds.
func Command(release bool) (string, error) {
	if given := os.Getenv("KUBEWRIGHT"); given != "" {
		return given, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	profile, arguments := "debug", []string{"build", "--quiet", "--package", "kubewright-cli"}
	if release {
		profile, arguments = "release", append(arguments, "--release")
	}
	build := exec.Command("cargo", arguments...)
	build.Dir, build.Stdout, build.Stderr = root, os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("building the command (cargo %s): %w", strings.Join(arguments, " "), err)
	}
	target := os.Getenv("CARGO_TARGET_DIR")
	if target == "" {
		target = filepath.Join(root, "target")
	}
	return filepath.Join(target, profile, "kubewright"), nil
}

// Shim writes the programs that replace kube-apiserver and etcd into a directory, and returns it.
func Shim(command, folder string) (string, error) {
	text, err := exec.Command(command, "assets", "shim", folder).Output()
	if err != nil {
		return "", fmt.Errorf("writing the programs that replace kube-apiserver and etcd: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Assets are the directories of the programs that envtest starts: those that replace kube-apiserver and etcd, which are written below
// work, and the real ones, if they are wanted.
func Assets(work string, real bool) (embedded, theirs string, err error) {
	command, err := Command(real)
	if err != nil {
		return "", "", err
	}
	if embedded, err = Shim(command, filepath.Join(work, "assets")); err != nil || !real {
		return embedded, "", err
	}
	theirs, err = RealAssets()
	return embedded, theirs, err
}

// RealAssets is the directory of a real kube-apiserver and etcd, which are built unless KUBEWRIGHT_REAL_ASSETS names one.
func RealAssets() (string, error) {
	if given := os.Getenv("KUBEWRIGHT_REAL_ASSETS"); given != "" {
		return given, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	build := exec.Command(filepath.Join(root, "tests", "kube-apiserver", "build"))
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("building a real kube-apiserver and etcd: %w", err)
	}
	return filepath.Join(root, ".kubewright", "kube-apiserver", "current"), nil
}

// Golang is a go command in the module of a directory, with flags that are the same in all judges and in
// tests/kube-apiserver/build: packages that several programs are made of are compiled once.
func Golang(folder string, arguments ...string) *exec.Cmd {
	command := exec.Command("go", arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly -trimpath -buildvcs=false")
	command.Stderr = os.Stderr
	return command
}

// Build compiles what is not in Go's cache of a main package of the module in a directory, into a file of the name of the package.
func Build(module, into, pkg string) (string, error) {
	runtime, err := RuntimeFlags(module)
	if err != nil {
		return "", err
	}
	program := filepath.Join(into, filepath.Base(pkg))
	build := Golang(module, "build", runtime, "-ldflags=-s -w", "-o", program, pkg)
	build.Stdout = os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("building %s: %w", pkg, err)
	}
	return program, nil
}

// RuntimeFlags are those with which tests/kube-apiserver/build compiles apimachinery's runtime: with others, nothing that is made
// of it would come from Go's cache.
func RuntimeFlags(module string) (string, error) {
	const name = "k8s.io/apimachinery"
	folder, err := ModuleFolder(module, name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("-gcflags=%s/pkg/runtime=-trimpath=%s=>%s", name, folder, name), nil
}

// ModuleFolder is where the sources are of a module that the module in a directory requires.
func ModuleFolder(module, name string) (string, error) {
	if err := Golang(module, "mod", "download", name).Run(); err != nil {
		return "", fmt.Errorf("fetching %s: %w", name, err)
	}
	text, err := Golang(module, "list", "-m", "-f", "{{.Dir}}", name).Output()
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", name, err)
	}
	return strings.TrimSpace(string(text)), nil
}
