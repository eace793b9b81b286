package harness

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// stopTimeout is how long a program may take to end after SIGTERM.
const stopTimeout = 10 * time.Second

// Process is a program that runs until it is stopped, with all its output in a file.
type Process struct {
	Log   string
	cmd   *exec.Cmd
	ended chan struct{}
}

// Start starts a program whose output goes to a file in a directory, under the name of the program.
func Start(folder string, program string, arguments ...string) (*Process, error) {
	cmd := exec.Command(program, arguments...)
	cmd.Dir = folder
	path := filepath.Join(folder, filepath.Base(program)+".log")
	log, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	return follow(cmd, path), nil
}

func follow(cmd *exec.Cmd, log string) *Process {
	process := &Process{Log: log, cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(process.ended)
	}()
	return process
}

// Until waits until a condition holds, and fails if the program ends before.
func (p *Process) Until(what string, timeout time.Duration, holds func() error) error {
	deadline := time.After(timeout)
	for {
		err := holds()
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("waiting until %s: %s ended: %s", what, filepath.Base(p.cmd.Path), p.tail())
		case <-deadline:
			return fmt.Errorf("waiting until %s: %w", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop ends the program, by force if it takes too long.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

func (p *Process) tail() string {
	const most = 2000
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

// startEmbedded starts the embedded API server and returns when its kubeconfig is written.
func startEmbedded(command, kubeconfig string, arguments []string) (*Process, error) {
	cmd := exec.Command(command, append([]string{"apiserver", "--kubeconfig", kubeconfig}, arguments...)...)
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", command, err)
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if _, err := os.Stat(kubeconfig); err == nil {
			go func() {
				for lines.Scan() {
				}
			}()
			return follow(cmd, os.DevNull), nil
		}
	}
	return nil, errors.Join(fmt.Errorf("starting %s: it ended before it served", command), cmd.Wait())
}
