// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// CurrentConditions describes this machine and the state of the repository in dir. What cannot be
// found out stays empty.
func CurrentConditions(ctx context.Context, dir string) Conditions {
	load, _ := strconv.ParseFloat(firstField(readFile("/proc/loadavg")), 64)
	return Conditions{
		Date:   time.Now().UTC().Truncate(time.Second),
		CPU:    procValue(readFile("/proc/cpuinfo"), "model name"),
		Cores:  runtime.NumCPU(),
		Memory: memory(readFile("/proc/meminfo")),
		Kernel: strings.TrimSpace(readFile("/proc/sys/kernel/osrelease")),
		Go:     runtime.Version(),
		Commit: commit(ctx, dir),
		Load:   load,
	}
}

func readFile(path string) string {
	content, _ := os.ReadFile(path)
	return string(content)
}

func firstField(text string) string {
	if fields := strings.Fields(text); len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// procValue finds the first line "key : value".
func procValue(text, key string) string {
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func memory(meminfo string) int64 {
	kilobytes, _ := strconv.ParseInt(firstField(procValue(meminfo, "MemTotal")), 10, 64)
	return kilobytes << 10
}

// commit is the short hash of the work tree, marked where files that are built differ from it.
func commit(ctx context.Context, dir string) string {
	git := func(args ...string) string {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	hash := git("rev-parse", "--short=12", "HEAD")
	if hash != "" && git("status", "--porcelain", "--", "controller") != "" {
		hash += " with changes"
	}
	return hash
}
