// SPDX-License-Identifier: Apache-2.0

// Package envtest starts a real API server with etcd for test suites, with our
// CRDs and that of JobSet in it.
//
// It owns the start, the stop and the search for binaries and CRDs. It does not
// own managers, clients or objects: each suite makes its own. No kubelet, no
// scheduler and no built-in controller runs, so pods stay pending and nothing
// is garbage collected.
package envtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrlenvtest "sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// EnvAssets names the environment variable with the folder that holds the
// binaries kube-apiserver and etcd.
const EnvAssets = "MILEPOST_ENVTEST_ASSETS"

// jobSetModule is where the CRD of JobSet comes from, in the version of go.mod.
const jobSetModule = "sigs.k8s.io/jobset"

// Options says what the API server of a suite has beyond the CRDs.
type Options struct {
	// Mutating and Validating are installed with the address and the CA of
	// Cluster.WebhookServer filled in. Their services need only a path.
	Mutating   []*admissionregistrationv1.MutatingWebhookConfiguration
	Validating []*admissionregistrationv1.ValidatingWebhookConfiguration
	// WithoutJobSet leaves the CRD of JobSet out.
	WithoutJobSet bool
	// APIServerArgs are appended to the arguments of the API server, by flag
	// name without the leading dashes.
	APIServerArgs map[string]string
}

// Cluster is a running API server.
type Cluster struct {
	// Config reaches the API server as a member of system:masters.
	Config *rest.Config
	// Scheme knows the built-in kinds, ours and JobSet.
	Scheme *apiruntime.Scheme

	env *ctrlenvtest.Environment
}

// Require skips the test when no API server binary is at hand. With CI=true that
// is a failure, since a pipeline that skips proves nothing.
func Require(t testing.TB) {
	t.Helper()
	err := checkAssets()
	if err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%v", err)
	}
	t.Skipf("%v", err)
}

// Start brings up an API server. The caller calls Stop; when ctx ends first the
// start is given up.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	if err := checkAssets(); err != nil {
		return nil, err
	}
	crds, err := crdFolders(ctx, opts.WithoutJobSet)
	if err != nil {
		return nil, err
	}
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	env := &ctrlenvtest.Environment{
		Scheme:                scheme,
		BinaryAssetsDirectory: os.Getenv(EnvAssets),
		CRDDirectoryPaths:     crds,
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: ctrlenvtest.WebhookInstallOptions{
			MutatingWebhooks:   opts.Mutating,
			ValidatingWebhooks: opts.Validating,
		},
	}
	for flag, value := range opts.APIServerArgs {
		env.ControlPlane.GetAPIServer().Configure().Append(flag, value)
	}
	config, err := env.Start()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the API server: %w", err), env.Stop())
	}
	return &Cluster{Config: config, Scheme: scheme, env: env}, nil
}

// Stop ends the API server and etcd and removes their files.
func (c *Cluster) Stop() error {
	return c.env.Stop()
}

// WebhookServer serves admission at the address that the configurations of
// Options point to. Put it into the options of a manager.
func (c *Cluster) WebhookServer() webhook.Server {
	local := c.env.WebhookInstallOptions
	return webhook.NewServer(webhook.Options{
		Host:    local.LocalServingHost,
		Port:    local.LocalServingPort,
		CertDir: local.LocalServingCertDir,
	})
}

// ConfigFor reaches the API server as a user that RBAC decides about.
func (c *Cluster) ConfigFor(user string, groups ...string) (*rest.Config, error) {
	added, err := c.env.AddUser(ctrlenvtest.User{Name: user, Groups: groups}, nil)
	if err != nil {
		return nil, fmt.Errorf("adding user %q: %w", user, err)
	}
	return added.Config(), nil
}

// NewScheme knows the built-in kinds, ours and JobSet.
func NewScheme() (*apiruntime.Scheme, error) {
	scheme := apiruntime.NewScheme()
	err := errors.Join(
		clientgoscheme.AddToScheme(scheme),
		trainer.AddToScheme(scheme),
		jobsetv1alpha2.AddToScheme(scheme),
	)
	if err != nil {
		return nil, fmt.Errorf("registering kinds: %w", err)
	}
	return scheme, nil
}

func checkAssets() error {
	folder := os.Getenv(EnvAssets)
	if folder == "" {
		return fmt.Errorf("%s is not set: it names the folder with kube-apiserver and etcd", EnvAssets)
	}
	for _, name := range []string{"kube-apiserver", "etcd"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("%s has no %s: %w", EnvAssets, name, err)
		}
	}
	return nil
}

// CRDFolders returns the folders with our CRDs and that of JobSet.
func CRDFolders(ctx context.Context) ([]string, error) { return crdFolders(ctx, false) }

// crdFolders finds our CRDs beside this file and JobSet's in its module, so that
// a suite works from any folder and follows the version in go.mod.
func crdFolders(ctx context.Context, withoutJobSet bool) ([]string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return nil, errors.New("finding the folder of the CRDs: no caller information")
	}
	module := filepath.Join(filepath.Dir(file), "..", "..", "..")
	folders := []string{filepath.Join(module, "config", "crd")}
	if withoutJobSet {
		return folders, nil
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", jobSetModule)
	list.Dir = module
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("finding module %s: %w", jobSetModule, err)
	}
	return append(folders, filepath.Join(strings.TrimSpace(string(out)), "config", "components", "crd", "bases")), nil
}
