// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"strings"
	"testing"
)

func TestRenderFillsInEveryFile(t *testing.T) {
	l := layout{name: "milepost", state: "/state"}
	values := l.configuration("/programs", "overlayfs", "example.org/sandbox:1")
	for _, source := range configurationFiles {
		t.Run(source, func(t *testing.T) {
			content, err := render(source, values)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(content), "<no value>") || len(content) == 0 {
				t.Errorf("incomplete file:\n%s", content)
			}
		})
	}
}

func TestFingerprintFollowsWhatTheClusterIsMadeOf(t *testing.T) {
	l := layout{name: "milepost", state: "/state"}
	fingerprint := func(programs string, images ...string) string {
		t.Helper()
		got, err := l.fingerprintOf(l.configuration(programs, "overlayfs", "example.org/sandbox:1"), images)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	base := fingerprint("/programs-v1", "a.tar")
	if base != fingerprint("/programs-v1", "a.tar") {
		t.Error("the same parts give another fingerprint, so no cluster would ever be kept")
	}
	if base == fingerprint("/programs-v2", "a.tar") {
		t.Error("an upgrade of the programs gives the same fingerprint")
	}
	if base == fingerprint("/programs-v1", "b.tar") {
		t.Error("another image gives the same fingerprint")
	}
}
