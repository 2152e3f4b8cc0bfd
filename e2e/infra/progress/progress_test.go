// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStart(t *testing.T) {
	cases := map[string]struct {
		takes time.Duration
		err   error
		want  string
	}{
		"a quick build says that it starts and ends": {
			takes: 3 * time.Second,
			want: "building etcd v1, only this once; takes about 10s on two idle cores\n" +
				"built etcd v1 in 3s\n",
		},
		"a slow build says every 15 seconds that it lives": {
			takes: 32 * time.Second,
			want: "building etcd v1, only this once; takes about 10s on two idle cores\n" +
				"building etcd v1: 15s so far\n" +
				"building etcd v1: 30s so far\n" +
				"built etcd v1 in 32s\n",
		},
		"a broken build is not called built": {
			takes: time.Second,
			err:   errors.New("broken"),
			want: "building etcd v1, only this once; takes about 10s on two idle cores\n" +
				"building etcd v1 stopped after 1s\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				done := Start(&out, "etcd v1", 10*time.Second)
				time.Sleep(tc.takes) // the clock of the bubble, no real time passes
				done(tc.err)
				if diff := cmp.Diff(tc.want, out.String()); diff != "" {
					t.Errorf("progress (-want +got):\n%s", diff)
				}
			})
		})
	}
}
