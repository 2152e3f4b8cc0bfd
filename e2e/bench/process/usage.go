// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a program has cost so far.
type Usage struct {
	CPU          time.Duration // user and system time since its start
	Resident     int64         // bytes of memory in use now
	PeakResident int64         // bytes of memory in use at the worst moment
}

// clockTick is the unit of the times in /proc/PID/stat. Linux fixes it for programs at 100 a
// second, whatever the kernel's own tick is.
const clockTick = 10 * time.Millisecond

// Usage reads what the program has cost from /proc.
func (p *Process) Usage() (Usage, error) {
	dir := fmt.Sprintf("/proc/%d/", p.PID())
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return Usage{}, fmt.Errorf("reading the cost of %s: %w", p.name, err)
	}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return Usage{}, fmt.Errorf("reading the cost of %s: %w", p.name, err)
	}
	cpu, err := parseCPU(stat)
	if err != nil {
		return Usage{}, fmt.Errorf("reading the cost of %s: %w", p.name, err)
	}
	return Usage{
		CPU:          cpu,
		Resident:     parseMemory(status, "VmRSS:"),
		PeakResident: parseMemory(status, "VmHWM:"),
	}, nil
}

// parseCPU adds the fields utime and stime of /proc/PID/stat. The name of the program stands
// before them in brackets and may contain anything, brackets included.
func parseCPU(stat []byte) (time.Duration, error) {
	const utime, stime = 11, 12 // counted from the field behind the name
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if end < 0 || len(fields) <= stime {
		return 0, fmt.Errorf("unexpected stat line %q", stat)
	}
	var ticks int64
	for _, field := range []string{fields[utime], fields[stime]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("unexpected time in stat line: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// parseMemory finds a line such as "VmRSS:  1234 kB"; 0 where there is none.
func parseMemory(status []byte, key string) int64 {
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == key && fields[2] == "kB" {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n * 1024
		}
	}
	return 0
}

// MachineCPU is the time all processors of the machine have been busy since it started, the time
// that its host took away included.
func MachineCPU() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("reading the load of the machine: %w", err)
	}
	return parseMachineCPU(string(stat))
}

// parseMachineCPU adds the fields of the line "cpu" but for idle and iowait, and those of guests,
// which are part of user time.
func parseMachineCPU(stat string) (time.Duration, error) {
	const idle, iowait, steal = 3, 4, 7
	fields := strings.Fields(stat)
	if len(fields) < steal+2 || fields[0] != "cpu" {
		return 0, fmt.Errorf("unexpected start of /proc/stat %.40q", stat)
	}
	var ticks int64
	for i, field := range fields[1 : steal+2] {
		if i == idle || i == iowait {
			continue
		}
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("unexpected time in /proc/stat: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}
