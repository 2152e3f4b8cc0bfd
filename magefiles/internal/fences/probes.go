// SPDX-License-Identifier: Apache-2.0

package fences

const (
	private = "controller/internal/"
	client  = "sigs.k8s.io/controller-runtime/pkg/client"
	kube    = "k8s.io/client-go/kubernetes"
)

// promises is the import table of the design: who must not import what, and a few imports that
// each package needs.
var promises = []struct{ packages, refused, allowed []string }{
	{
		packages: ours("report", "reportlink", "logkeys"),
		refused:  paths(client, kube, "intake", "runtimeplan", "latest"),
		allowed:  paths("time", "k8s.io/apimachinery/pkg/types"),
	},
	{
		packages: ours("runtimeplan"),
		refused:  paths(client, kube, "report", "reportlink", "trainjob"),
		allowed:  paths("k8s.io/client-go/applyconfigurations/core/v1"),
	},
	{
		packages: ours("reportapi"),
		refused:  paths("report", "intake", "logkeys", client),
		allowed:  paths("github.com/getkin/kin-openapi/openapi3", "github.com/oapi-codegen/runtime"),
	},
	{
		packages: ours("podidentity"),
		refused:  paths("reportapi", "intake", "latest", "statuswriter", "trainjob"),
		allowed:  paths("report", "reportlink", "github.com/coreos/go-oidc/v3/oidc"),
	},
	{
		packages: ours("reportrules"),
		refused:  paths("reportapi", "intake", "latest", client, kube),
		allowed:  paths("report", "k8s.io/utils/clock"),
	},
	{
		packages: ours("latest"),
		refused:  paths("reportapi", "intake", "statuswriter", client, kube),
		allowed:  paths("report", "metrics", "k8s.io/utils/clock"),
	},
	{
		packages: ours("intake"),
		refused:  paths("podidentity", "reportrules", "latest", "statuswriter", "trainjob", client, kube),
		allowed:  paths("report", "reportapi", "reportlink"),
	},
	{
		packages: ours("statuswriter"),
		refused:  paths("intake", "latest", "trainjob", "podidentity"),
		allowed:  paths("report", "metrics", client),
	},
	{
		packages: ours("runtimeref"),
		refused:  paths("jobsetbuild", "trainjob", "report", "intake"),
		allowed:  paths("runtimeplan", client),
	},
	{
		packages: ours("mlpolicy/torch", "mlpolicy/plain"),
		refused:  paths(client, kube, "mlpolicy/jax", "reporterwiring", "report", "reportlink", "intake"),
		allowed:  paths("runtimeplan"),
	},
	{
		packages: ours("reporterwiring"),
		refused:  paths(client, kube, "mlpolicy/torch", "report", "reportapi", "intake", "latest"),
		allowed:  paths("runtimeplan", "reportlink"),
	},
	{
		packages: ours("jobsetbuild", "jobsetstatus"),
		refused:  paths(client, kube, "trainjob", "report", "intake"),
		allowed:  paths("runtimeplan", "sigs.k8s.io/jobset/api/jobset/v1alpha2"),
	},
	{
		packages: ours("trainjob"),
		refused:  paths("report", "reportapi", "podidentity", "reportrules", "latest", "intake", "statuswriter"),
		allowed:  paths("runtimeref", "runtimeplan", "jobsetbuild", "jobsetstatus", "reporterwiring", client),
	},
	{
		packages: ours("admission"),
		refused:  paths("intake", "statuswriter", "latest", "trainjob"),
		allowed:  paths("runtimeref", "jobsetbuild", client),
	},
	{
		packages: ours("manager"),
		refused:  paths("testkit", "github.com/onsi/gomega"),
		allowed:  paths("intake", "trainjob", "statuswriter", client),
	},
	{
		packages: []string{"e2e/infra/existing", "e2e/suites/reporting"},
		refused:  paths("report", "intake"),
		allowed:  paths("./controller/api/trainer/v1alpha1", client),
	},
	{
		packages: []string{"magefiles", "magefiles/internal/run"},
		refused:  paths("./controller/api/trainer/v1alpha1", "./e2e/infra/binaries"),
		allowed:  paths("./magefiles/internal/house"),
	},
	{
		packages: []string{"reporters/go", "reporters/go/internal/wire", "reporters/go/cmd/milepost-report"},
		refused:  paths("./controller/api/trainer/v1alpha1", "github.com/spf13/cobra", "./reporters/conformance/internal/vectors"),
		allowed:  paths("time", "./reporters/go/internal/wire"),
	},
	{
		packages: []string{"reporters/conformance/internal/runner"},
		refused:  paths("./controller/api/trainer/v1alpha1", "./reporters/go"),
		allowed:  paths("./reporters/conformance/internal/endpoint", "github.com/santhosh-tekuri/jsonschema/v6"),
	},
	{
		packages: []string{"controller/internal/intake", "controller/cmd/milepost", "e2e/suites/reporting", "magefiles"},
		refused:  paths("./reporters/go", "./reporters/conformance/internal/vectors"),
		allowed:  paths("time"),
	},
}

// Probes turns the promises into imports to show the linter.
func Probes() (probes []Probe) {
	for _, promise := range promises {
		for _, pkg := range promise.packages {
			probes = append(probes, each(pkg, promise.refused, true)...)
			probes = append(probes, each(pkg, promise.allowed, false)...)
		}
	}
	return probes
}

// ours names private packages of the controller.
func ours(names ...string) []string {
	for i, name := range names {
		names[i] = private + name
	}
	return names
}

// paths turns the short names of private packages into import paths and leaves others alone.
func paths(names ...string) []string {
	for i, name := range names {
		if shortName(name) {
			names[i] = "./" + private + name
		}
	}
	return names
}

// shortName tells the name of one of our private packages from an import path.
func shortName(name string) bool {
	for _, start := range []string{"./", "github.com/", "k8s.io/", "sigs.k8s.io/"} {
		if len(name) >= len(start) && name[:len(start)] == start {
			return false
		}
	}
	return name != "time"
}

func each(pkg string, imports []string, refused bool) (probes []Probe) {
	for _, path := range imports {
		probes = append(probes, Probe{Package: pkg, Imports: path, Refused: refused})
	}
	return probes
}
