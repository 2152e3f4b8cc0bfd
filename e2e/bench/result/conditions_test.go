// SPDX-License-Identifier: Apache-2.0

package result

import "testing"

func TestProcFiles(t *testing.T) {
	const cpuinfo = "processor\t: 0\nmodel name\t: AMD EPYC 9B14\nprocessor\t: 1\nmodel name\t: other\n"
	const meminfo = "MemTotal:       24641232 kB\nMemFree:        1 kB\n"
	if got, want := procValue(cpuinfo, "model name"), "AMD EPYC 9B14"; got != want {
		t.Errorf("model = %q, want %q", got, want)
	}
	if got := procValue(cpuinfo, "flags"); got != "" {
		t.Errorf("an absent key has the value %q", got)
	}
	if got, want := memory(meminfo), int64(24641232<<10); got != want {
		t.Errorf("memory = %d, want %d", got, want)
	}
	if got := memory(""); got != 0 {
		t.Errorf("memory of an empty file = %d, want 0", got)
	}
}
