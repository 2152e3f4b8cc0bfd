// SPDX-License-Identifier: Apache-2.0

package process

import (
	"testing"
	"time"
)

func TestParseCPU(t *testing.T) {
	tests := map[string]struct {
		stat    string
		want    time.Duration
		wantErr bool
	}{
		"user and system time are added": {
			stat: "42 (etcd) S 1 42 42 0 -1 4194560 9 0 0 0 150 50 0 0 20 0 9 0 100 1 2",
			want: 2 * time.Second,
		},
		"a name with brackets and spaces does not shift the fields": {
			stat: "42 (a) b (c) S 1 42 42 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 9 0 100 1 2",
			want: 30 * time.Millisecond,
		},
		"a short line is an error":   {stat: "42 (etcd) S 1", wantErr: true},
		"an empty file is an error":  {stat: "", wantErr: true},
		"a word as time is an error": {stat: "42 (etcd) S 1 42 42 0 -1 4194560 9 0 0 0 x 50 0", wantErr: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseCPU([]byte(tc.stat))
			if (err != nil) != tc.wantErr || got != tc.want {
				t.Errorf("parseCPU() = %v, %v, want %v, error %v", got, err, tc.want, tc.wantErr)
			}
		})
	}
}

func TestParseMemory(t *testing.T) {
	const status = "Name:\tetcd\nVmHWM:\t  2048 kB\nVmRSS:\t    10 kB\nThreads:\t9\n"
	tests := map[string]struct {
		key  string
		want int64
	}{
		"resident memory is given in bytes":   {key: "VmRSS:", want: 10 << 10},
		"the peak is a line of its own":       {key: "VmHWM:", want: 2 << 20},
		"a key that is absent counts nothing": {key: "VmSwap:", want: 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := parseMemory([]byte(status), tc.key); got != tc.want {
				t.Errorf("parseMemory(%q) = %d, want %d", tc.key, got, tc.want)
			}
		})
	}
}

func TestParseMachineCPU(t *testing.T) {
	tests := map[string]struct {
		stat    string
		want    time.Duration
		wantErr bool
	}{
		"idle, waiting and guests do not count": {
			stat: "cpu  100 1 50 9999 9999 2 3 4 77 88\ncpu0 1 1 1 1 1 1 1 1 1 1\n", want: 1600 * time.Millisecond,
		},
		"a file of another form is an error": {stat: "intr 5", wantErr: true},
		"a word as time is an error":         {stat: "cpu 1 2 x 4 5 6 7 8 9 10", wantErr: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseMachineCPU(tc.stat)
			if (err != nil) != tc.wantErr || got != tc.want {
				t.Errorf("parseMachineCPU() = %v, %v, want %v, error %v", got, err, tc.want, tc.wantErr)
			}
		})
	}
}
