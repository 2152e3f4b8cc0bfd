// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
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
		cluster := startCluster(t)
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

// TestASignalEndsAStartOnAnInjectedAPIServerThatHangs is about the waits before there is anything to stop.
func TestASignalEndsAStartOnAnInjectedAPIServerThatHangs(t *testing.T) {
	t.Run("from the first call on", func(t *testing.T) {
		deaf := listen(t)
		p := reaching(t, &rest.Config{Host: "http://" + deaf.Addr().String()})
		p.wantEnd(t, func() {
			// The first call shows that the ports are checked and signals are heard.
			conn, err := deaf.Accept()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
		})
	})
	t.Run("when caches are filled", func(t *testing.T) {
		cluster := startCluster(t)
		asked := make(chan struct{}, 16)
		p := reaching(t, holdLists(t, cluster.Config, asked))
		p.wantEnd(t, func() {
			select {
			case <-asked:
			case <-time.After(time.Minute):
				t.Fatal("void: no cache was about to be filled")
			}
		})
	})
}

// wantEnd starts the manager, and wants a signal to end it once it waits.
func (p program) wantEnd(t *testing.T, waits func()) {
	t.Helper()
	free := listen(t)
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := p.command(ctx, t, port)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	waits()
	begun := time.Now()
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := command.Wait()
	if took := time.Since(begun); took > soon {
		t.Errorf("the end took %s (%v)", took, err)
	}
}

// holdLists is the way to an API server that never answers lists and watches of TrainJobs, and tells that
// it was asked for one.
func holdLists(t *testing.T, cluster *rest.Config, asked chan<- struct{}) *rest.Config {
	t.Helper()
	target, err := url.Parse(cluster.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(cluster)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport,
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/trainjobs") {
			forward.ServeHTTP(w, r)
			return
		}
		select {
		case asked <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return &rest.Config{Host: proxy.URL}
}

func startCluster(t *testing.T) *envtest.Cluster {
	t.Helper()
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
	api, err := client.New(cluster.Config, client.Options{Scheme: cluster.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := livemanager.Prepare(t.Context(), api); err != nil {
		t.Fatal(err)
	}
	return cluster
}
