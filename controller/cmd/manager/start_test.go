// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/testkit/envtest"
	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

// soon is how quickly a manager that cannot start has to say so, on a machine that has other work.
const soon = 10 * time.Second

// program is the manager as a process.
type program struct{ folder, kubeconfig string }

// built is the one build that all tests share.
var built string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	folder, err := os.MkdirTemp("", "manager")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	if built, err = livemanager.Build(context.Background(), folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// reaching is the manager as it reaches an API server.
func reaching(t *testing.T, cluster *rest.Config) program {
	t.Helper()
	folder := t.TempDir()
	p := program{folder: folder, kubeconfig: filepath.Join(folder, "kubeconfig")}
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: cluster.Host, CertificateAuthorityData: cluster.CAData}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: cluster.CertData, ClientKeyData: cluster.KeyData}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	if err := clientcmd.WriteToFile(*config, p.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return p
}

// command runs the manager with a port for webhooks.
func (p program) command(ctx context.Context, t *testing.T, webhook int) *exec.Cmd {
	t.Helper()
	file := filepath.Join(p.folder, "config.yaml")
	config := fmt.Sprintf(`apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
health: {healthProbeBindAddress: "0"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d}
`, webhook)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, built, "--config", file)
	command.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig, "POD_NAMESPACE="+livemanager.Namespace)
	return command
}

// wantPortTaken runs the manager on a port that is taken and wants one line and an exit code.
func (p program) wantPortTaken(t *testing.T) {
	t.Helper()
	taken := listen(t)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	command := p.command(ctx, t, taken.Addr().(*net.TCPAddr).Port)
	out, err := command.CombinedOutput()
	if code := command.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d (%v), want 1 within %s", code, err, soon)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 1 || !strings.Contains(lines[0], "webhook.port") || !strings.Contains(lines[0], "address already in use") {
		t.Errorf("it says %q, want one line that names the port", lines)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func TestAPortThatIsTakenIsSaidAtOnce(t *testing.T) {
	t.Run("with an injected API server that never answers", func(t *testing.T) {
		deaf := listen(t) // the kernel takes connections, and nobody reads them
		reaching(t, &rest.Config{Host: "http://" + deaf.Addr().String()}).wantPortTaken(t)
	})
	t.Run("without CRDs, and with them", func(t *testing.T) {
		envtest.Require(t)
		cluster, err := envtest.Start(t.Context(), envtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cluster.Stop(); err != nil {
				t.Error(err)
			}
		})
		p := reaching(t, cluster.Config)
		p.wantPortTaken(t)
		scheme := runtime.NewScheme()
		if err := apiextensionsv1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		api, err := client.New(cluster.Config, client.Options{Scheme: scheme})
		if err != nil {
			t.Fatal(err)
		}
		if err := api.DeleteAllOf(t.Context(), &apiextensionsv1.CustomResourceDefinition{}); err != nil {
			t.Fatal(err)
		}
		p.wantPortTaken(t)
	})
}

// TestASignalEndsAStartOnAnInjectedAPIServerThatNeverAnswers is about the wait before there is anything
// to stop.
func TestASignalEndsAStartOnAnInjectedAPIServerThatNeverAnswers(t *testing.T) {
	deaf := listen(t)
	p := reaching(t, &rest.Config{Host: "http://" + deaf.Addr().String()})
	free := listen(t)
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := p.command(ctx, t, port)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	// The first call shows that the ports are checked and signals are heard.
	conn, err := deaf.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	begun := time.Now()
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = command.Wait()
	if took := time.Since(begun); took > soon {
		t.Errorf("the end took %s (%v)", took, err)
	}
}
