// The embedded API server, as its command serves it.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

type server struct {
	kubeconfig string
	process    *exec.Cmd
}

// buildCommand builds the command of this repository.
func buildCommand() (string, error) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		return "", err
	}
	say("building the command")
	build := exec.Command("cargo", "build", "--quiet", "--package", "kubewright-cli")
	build.Dir = root
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("building the command (cargo build --package kubewright-cli): %w", err)
	}
	target := os.Getenv("CARGO_TARGET_DIR")
	if target == "" {
		target = filepath.Join(root, "target")
	}
	return filepath.Join(target, "debug", "kubewright"), nil
}

// startServer starts the server with all its controllers and a program for the containers of the suite, and waits until its
// kubeconfig is written.
func startServer(command, work, agnhost string) (*server, error) {
	kubeconfig := filepath.Join(work, "kubeconfig")
	process := exec.Command(command, "apiserver", "--controllers", "all", "--nodes", "2", "--kubeconfig", kubeconfig,
		"--container", "registry.k8s.io/e2e-test-images/agnhost:*="+agnhost+" pause")
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", command, err)
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if _, err := os.Stat(kubeconfig); err == nil {
			go func() {
				for lines.Scan() {
				}
			}()
			return &server{kubeconfig, process}, nil
		}
	}
	return nil, fmt.Errorf("starting %s: it ended before it served: %v", command, process.Wait())
}

// stop ends the server, by force if it takes longer than ten seconds.
func (s *server) stop() {
	_ = s.process.Process.Signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- s.process.Wait() }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = s.process.Process.Kill()
		<-ended
	}
}
