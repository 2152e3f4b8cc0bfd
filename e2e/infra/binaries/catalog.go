// SPDX-License-Identifier: Apache-2.0

// Package binaries builds the programs a Kubernetes cluster consists of from
// their Go modules and caches them by version.
//
// It owns the list of programs, the pinned modules they come from (folder
// modules), the cache and the progress a person sees while building. It does
// not own how the programs are run.
package binaries

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Program says how one binary is built.
type Program struct {
	// Folder below modules that pins the module and all it depends on.
	Folder string
	// Module whose required version in Folder's go.mod is the program's version.
	Module string
	// Package is the main package.
	Package string
	// Tags are Go build tags, separated by commas.
	Tags string
	// VersionVars are variables of package path.name that receive the version
	// at link time; a program that lacks them reports version v0.0.0.
	VersionVars []VersionVar
	// CGO says that the program contains C code and thus needs a C compiler.
	CGO bool
	// Cold is the build time with an empty build cache on two cores. It only
	// serves to tell people how long to wait.
	Cold time.Duration
}

// VersionVar is a string variable set at link time.
type VersionVar struct {
	Name string
	Part VersionPart
}

// VersionPart selects what of the version a VersionVar receives.
type VersionPart int

// The parts of a version v1.37.2.
const (
	Whole VersionPart = iota // v1.37.2
	Major                    // 1
	Minor                    // 37
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	containerdModule = "github.com/containerd/containerd/v2"
	cniModule        = "github.com/containernetworking/plugins"
	runcModule       = "github.com/opencontainers/runc"
	corednsModule    = "github.com/coredns/coredns"
	jobsetModule     = "sigs.k8s.io/jobset"
	etcdModule       = "go.etcd.io/etcd/server/v3"
	helm3Module      = "helm.sh/helm/v3"
	helm4Module      = "helm.sh/helm/v4"
)

var catalog = map[string]Program{
	"kube-apiserver":          kubernetes("kube-apiserver", 240*time.Second),
	"kube-controller-manager": kubernetes("kube-controller-manager", 75*time.Second),
	"kube-scheduler":          kubernetes("kube-scheduler", 10*time.Second),
	"kubelet":                 kubernetes("kubelet", 20*time.Second),
	"kube-proxy":              kubernetes("kube-proxy", 12*time.Second),
	"kubectl":                 kubernetes("kubectl", 15*time.Second),
	"etcd":                    {Folder: "etcd", Module: etcdModule, Package: etcdModule, Cold: 10 * time.Second},
	"containerd":              containerd("containerd", 50*time.Second),
	"containerd-shim-runc-v2": containerd("containerd-shim-runc-v2", 2*time.Second),
	"ctr":                     containerd("ctr", 3*time.Second),
	// Pods with seccompProfile RuntimeDefault, which restricted pod security
	// asks for, cannot start on a runc without seccomp.
	"runc":       {Folder: "runc", Module: runcModule, Package: runcModule, CGO: true, Tags: "seccomp", Cold: 10 * time.Second},
	"ptp":        cni("main/ptp"),
	"loopback":   cni("main/loopback"),
	"host-local": cni("ipam/host-local"),
	"portmap":    cni("meta/portmap"),
	"coredns":    {Folder: "coredns", Module: corednsModule, Package: corednsModule, Cold: 90 * time.Second},
	"jobset":     {Folder: "jobset", Module: jobsetModule, Package: jobsetModule, Cold: 75 * time.Second},
	"helm3":      helm("helm3", helm3Module),
	"helm4":      helm("helm4", helm4Module),
}

func kubernetes(command string, cold time.Duration) Program {
	const variables = "k8s.io/component-base/version."
	return Program{
		Folder:  "kubernetes",
		Module:  kubernetesModule,
		Package: kubernetesModule + "/cmd/" + command,
		VersionVars: []VersionVar{
			{variables + "gitVersion", Whole},
			{variables + "gitMajor", Major},
			{variables + "gitMinor", Minor},
		},
		Cold: cold,
	}
}

func containerd(command string, cold time.Duration) Program {
	return Program{
		Folder:      "containerd",
		Module:      containerdModule,
		Package:     containerdModule + "/cmd/" + command,
		VersionVars: []VersionVar{{containerdModule + "/version.Version", Whole}},
		Cold:        cold,
	}
}

func cni(plugin string) Program {
	return Program{
		Folder:      "cni",
		Module:      cniModule,
		Package:     cniModule + "/plugins/" + plugin,
		VersionVars: []VersionVar{{cniModule + "/pkg/utils/buildversion.BuildVersion", Whole}},
		Cold:        2 * time.Second,
	}
}

func helm(folder, module string) Program {
	return Program{
		Folder:      folder,
		Module:      module,
		Package:     module + "/cmd/helm",
		VersionVars: []VersionVar{{module + "/internal/version.version", Whole}},
		Cold:        time.Minute,
	}
}

// Lookup returns the program of that name; the error lists the known names.
func Lookup(name string) (Program, error) {
	program, known := catalog[name]
	if !known {
		return Program{}, fmt.Errorf("unknown program %q, known are %v", name, Names())
	}
	return program, nil
}

// Names lists every program in alphabetical order.
func Names() []string {
	return slices.Sorted(maps.Keys(catalog))
}
