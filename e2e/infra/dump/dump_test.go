// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestContainersOf(t *testing.T) {
	cases := map[string]struct {
		list string
		want []container
	}{
		"no pods give nothing": {list: `{"items": []}`},
		"init containers count, and what has never run does not": {
			list: `{"items": [{"metadata": {"namespace": "n", "name": "p"}, "status": {
				"initContainerStatuses": [{"name": "setup", "containerID": "containerd://1"}],
				"containerStatuses": [
					{"name": "node", "containerID": "containerd://2", "restartCount": 2},
					{"name": "waiting", "containerID": ""}]}}]}`,
			want: []container{
				{namespace: "n", pod: "p", name: "setup"},
				{namespace: "n", pod: "p", name: "node", restarted: true},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := containersOf([]byte(tc.list))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(container{})); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
		})
	}
}

// brokenCluster fakes a cluster whose API server is dead.
type brokenCluster struct{ logs string }

func (brokenCluster) Command(ctx context.Context, _ string, _ ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "sh", "-c", "echo connection refused >&2; exit 1")
}

func (c brokenCluster) Logs() string { return c.logs }

func TestWriteKeepsWhatItCanOfABrokenFakeCluster(t *testing.T) {
	cluster := brokenCluster{logs: t.TempDir()}
	if err := os.WriteFile(filepath.Join(cluster.logs, "kubelet.log"), []byte("why\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "dump")
	err := Write(t.Context(), cluster, dir)
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("want an error that says what kubectl said, got %v", err)
	}
	content, err := os.ReadFile(filepath.Join(dir, "components", "kubelet.log"))
	if err != nil || string(content) != "why\n" {
		t.Errorf("want the kubelet's log, got %q and %v", content, err)
	}
}
