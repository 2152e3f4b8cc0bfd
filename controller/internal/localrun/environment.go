// SPDX-License-Identifier: Apache-2.0

package localrun

import (
	"slices"
	"strings"

	"github.com/milepost-dev/milepost/controller/internal/reportlink"
)

// loopbackNames is what must not go through a proxy. Some clients, Python's
// among them, would send even requests to this machine there.
const loopbackNames = "127.0.0.1,::1,localhost"

// environment adds to the command's environment how to reach the endpoint.
func environment(base []string, url, caFile, tokenFile string) []string {
	env := slices.Clone(base)
	if usesProxy(base) {
		for _, name := range []string{"NO_PROXY", "no_proxy"} {
			value := loopbackNames
			if before := lookup(base, name); before != "" {
				value = before + "," + value
			}
			env = append(env, name+"="+value)
		}
	}
	// Of several values of one variable the last counts.
	return append(env,
		reportlink.EnvServerURL+"="+url,
		reportlink.EnvServerCACert+"="+caFile,
		reportlink.EnvServerToken+"="+tokenFile,
	)
}

func usesProxy(env []string) bool {
	return slices.ContainsFunc([]string{"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}, func(name string) bool {
		return lookup(env, name) != ""
	})
}

// lookup returns the value that counts of an environment variable.
func lookup(env []string, name string) string {
	for _, pair := range slices.Backward(env) {
		if value, found := strings.CutPrefix(pair, name+"="); found {
			return value
		}
	}
	return ""
}
