// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// markVariable is set in the environment of every process of a cluster to the
// cluster's state folder. Shims inherit it from containerd. Unlike a file with
// process ids it cannot be lost and cannot name a stranger.
const markVariable = "MILEPOST_CLUSTER_STATE"

func (l layout) mark() string { return markVariable + "=" + l.state }

// process is a running process of the cluster.
type process struct {
	pid     int
	program string
}

// marked lists the processes that carry the cluster's mark.
func (l layout) marked() ([]process, error) {
	return processesWith(func(variable string) bool { return variable == l.mark() })
}

// othersRun tells whether another cluster runs on this machine.
func (l layout) othersRun() (bool, error) {
	others, err := processesWith(func(variable string) bool {
		return strings.HasPrefix(variable, markVariable+"=") && variable != l.mark()
	})
	return len(others) > 0, err
}

// processesWith lists all processes but this one that have a wanted variable in
// their environment.
func processesWith(wanted func(variable string) bool) ([]process, error) {
	const proc = "/proc"
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var found []process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// A process may end between the listing and here; then it is none of ours any more.
		environment, err := os.ReadFile(filepath.Join(proc, entry.Name(), "environ"))
		if err != nil || !anyVariable(environment, wanted) {
			continue
		}
		arguments, err := os.ReadFile(filepath.Join(proc, entry.Name(), "cmdline"))
		if err != nil || len(arguments) == 0 { // a zombie has no arguments
			continue
		}
		found = append(found, process{pid: pid, program: programName(arguments)})
	}
	return found, nil
}

// anyVariable looks through an environment, variables ended by zero bytes.
func anyVariable(environment []byte, wanted func(variable string) bool) bool {
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if wanted(string(variable)) {
			return true
		}
	}
	return false
}

func programName(arguments []byte) string {
	first, _, _ := bytes.Cut(arguments, []byte{0})
	return filepath.Base(string(first))
}

// running maps the name of a component to its process id.
func (l layout) running() (map[string]int, error) {
	processes, err := l.marked()
	if err != nil {
		return nil, err
	}
	ids := map[string]int{}
	for _, p := range processes {
		ids[p.program] = p.pid
	}
	return ids, nil
}

// patience is how long a killed process may take to be gone: the kernel may
// have to wait for a disk.
const patience = 15 * time.Second

// killUntilNone kills what list returns, again and again until it returns
// nothing, because what is being killed may still start children.
func killUntilNone(ctx context.Context, what string, list func() ([]int, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last []int
	err := poll(ctx, 50*time.Millisecond, func() (bool, error) {
		ids, err := list()
		if err != nil || len(ids) == 0 {
			return true, err
		}
		last = ids
		for _, id := range ids {
			if err := syscall.Kill(id, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return true, fmt.Errorf("killing process %d: %w", id, err)
			}
		}
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s %v still there after being killed for %s", what, last, patience)
	}
	return err
}

// markedIDs lists the marked processes whose program is wanted; no program
// wanted means all.
func (l layout) markedIDs(programs ...string) func() ([]int, error) {
	return func() ([]int, error) {
		processes, err := l.marked()
		if err != nil {
			return nil, err
		}
		var ids []int
		for _, p := range processes {
			if len(programs) == 0 || slices.Contains(programs, p.program) {
				ids = append(ids, p.pid)
			}
		}
		return ids, nil
	}
}

// poll calls done until it says so, fails or ctx ends.
func poll(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		finished, err := done()
		if err != nil || finished {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
