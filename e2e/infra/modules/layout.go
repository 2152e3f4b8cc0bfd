// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Addresses inside the cluster's network namespace. Nothing outside can see
// them, so fixed ones never collide.
const (
	nodeAddress    = "10.200.0.1"
	dnsAddress     = "10.200.0.10"
	serviceCIDR    = "10.96.0.0/16"
	serviceAddress = "10.96.0.1"
	clusterCIDR    = "10.244.0.0/16"
	podCIDR        = "10.244.0.0/24" // what the controller manager gives to the first node
	clusterDomain  = "cluster.local"
	issuer         = "https://kubernetes.default.svc"
	serverURL      = "https://" + nodeAddress + ":6443"
)

// defaultName is what a cluster is called unless its state folder says otherwise.
const defaultName = "milepost"

// longestState keeps the path of containerd's socket within the 107 bytes the
// kernel allows.
const longestState = 70

// layout knows where everything of one cluster is.
type layout struct {
	name  string
	state string
}

func newLayout(state string) (layout, error) {
	if !filepath.IsAbs(state) || filepath.Dir(state) == "/" {
		return layout{}, fmt.Errorf("state folder %q must be an absolute path below another folder", state)
	}
	if len(state) > longestState {
		return layout{}, fmt.Errorf("state folder %q is longer than %d characters", state, longestState)
	}
	name := strings.ToLower(filepath.Base(state))
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(name, "-") {
		return layout{}, fmt.Errorf("state folder %q must end in a name of letters, digits and dashes", state)
	}
	// The name also stands for a cgroup and a network namespace of the machine,
	// and all processes in that cgroup get killed: it must not be "docker".
	if !strings.HasPrefix(name, defaultName) {
		name = defaultName + "-" + name
	}
	return layout{name: name, state: filepath.Clean(state)}, nil
}

func (l layout) path(parts ...string) string {
	return filepath.Join(append([]string{l.state}, parts...)...)
}

func (l layout) certificate(name string) string { return l.path("pki", name+".crt") }
func (l layout) key(name string) string         { return l.path("pki", name+".key") }
func (l layout) kubeconfig(name string) string  { return l.path("kubeconfig", name+".yaml") }
func (l layout) config(name string) string      { return l.path("config", name) }
func (l layout) logs() string                   { return l.path("log") }
func (l layout) log(component string) string    { return l.path("log", component+".log") }

// fingerprint is the file that says what a cluster was made of. A folder that
// lacks it is not ours to remove.
func (l layout) fingerprint() string { return l.path("cluster.fingerprint") }

// containerdSocket is the socket as seen from outside the node's mounts.
func (l layout) containerdSocket() string {
	return l.path("run", "containerd", "containerd.sock")
}

func (l layout) networkNamespace() string { return filepath.Join("/run/netns", l.name) }

// nodeMounts maps folders whose paths kubelet and containerd have built in to
// where they really are. They are bound in a mount namespace of the node's
// own, so that a kubelet or containerd of the machine is left in peace and all
// mounts of pods are gone with the node's last process.
func (l layout) nodeMounts() map[string]string {
	return map[string]string{
		"/var/lib/kubelet":    l.path("kubelet"),
		"/var/log/pods":       l.path("log", "pods"),
		"/var/log/containers": l.path("log", "containers"),
		"/run/containerd":     l.path("run", "containerd"),
	}
}
