// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// daemon is a component that has been started and runs on when we end.
type daemon struct {
	name string
	pid  int
	log  string
	// exited receives once when the process ends while we still watch it.
	exited chan error
}

// start runs c as a daemon. nodePID is the process whose mount namespace a
// node component joins; 0 makes the namespace.
func (l layout) start(programs string, c component, nodePID int) (*daemon, error) {
	log, err := os.OpenFile(l.log(c.name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", c.name, err)
	}
	defer func() { _ = log.Close() }() // the daemon has its own copy
	line := l.commandLine(programs, c, nodePID)
	command := exec.Command(line[0], line[1:]...)
	command.Dir = l.state
	// Nothing of the caller's environment: a proxy or KUBECONFIG set there
	// would make clusters differ.
	command.Env = []string{l.mark(), "PATH=" + programs + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.name, err)
	}
	d := &daemon{name: c.name, pid: command.Process.Pid, log: log.Name(), exited: make(chan error, 1)}
	go func() { d.exited <- command.Wait() }()
	return d, os.WriteFile(l.path("run", c.name+".pid"), []byte(strconv.Itoa(d.pid)+"\n"), 0o644)
}

// commandLine wraps a component so that it ends up, under the process id it was
// started with, in the namespaces it belongs to. nsenter --net and not `ip netns exec`:
// the latter mounts a new /sys, without the cgroups that kubelet and runc need.
func (l layout) commandLine(programs string, c component, nodePID int) []string {
	line := []string{"nsenter", "--net=" + l.networkNamespace()}
	switch {
	case c.node && nodePID == 0:
		line = append(line, "--", "unshare", "--mount", "--propagation", "private", "--", "sh", "-ec", l.mountScript(), "sh")
	case c.node:
		line = append(line, fmt.Sprintf("--mount=/proc/%d/ns/mnt", nodePID), "--")
	default:
		line = append(line, "--")
	}
	return append(append(line, filepath.Join(programs, c.name)), c.args...)
}

// mountScript binds the node's folders to their well-known paths and becomes
// the program given as arguments. Everything is shared within the namespace,
// because pods with mount propagation demand it.
func (l layout) mountScript() string {
	mounts := l.nodeMounts()
	var script strings.Builder
	for _, target := range slices.Sorted(maps.Keys(mounts)) {
		fmt.Fprintf(&script, "mount --bind '%s' '%s'; ", mounts[target], target)
	}
	script.WriteString(`mount --make-rshared /; exec "$@"`)
	return script.String()
}

// failure says why a daemon ended, with the end of its log.
func (d *daemon) failure(exit error) error {
	if exit == nil {
		exit = fmt.Errorf("exit status 0")
	}
	return fmt.Errorf("%s ended (%w), the end of %s is:\n%s", d.name, exit, d.log, tail(d.log, 8))
}

// tail returns the last lines of a file, or nothing if it cannot be read.
func tail(path string, lines int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	all := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
