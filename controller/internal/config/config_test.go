// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const header = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "controller_manager_config.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadFillsInDefaults(t *testing.T) {
	for name, path := range map[string]string{
		"no file at all":       "",
		"a file with no field": write(t, header),
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Load(path)
			if err != nil {
				t.Fatalf("Load() error = %v", err)
			}
			if got, want := *cfg.StatusServer.Port, int32(10443); got != want {
				t.Errorf("statusServer.port = %d, want %d", got, want)
			}
			if got, want := *cfg.StatusServer.QPS, float32(50); got != want {
				t.Errorf("statusServer.qps = %v, want %v", got, want)
			}
			if got, want := *cfg.StatusServer.Burst, int32(100); got != want {
				t.Errorf("statusServer.burst = %d, want %d", got, want)
			}
			if got, want := cfg.CertManagement.WebhookSecretName, "kubeflow-trainer-webhook-cert"; got != want {
				t.Errorf("certManagement.webhookSecretName = %q, want %q", got, want)
			}
		})
	}
}

func TestLoadKeepsWhatTheFileSays(t *testing.T) {
	cfg, err := Load(write(t, header+"statusServer: {port: 11443, qps: 7, burst: 9}\nfeatureGates: {TrainJobStatus: true}\n"))
	if err != nil {
		t.Fatalf("Load() error = %v", err)
	}
	if *cfg.StatusServer.Port != 11443 || *cfg.StatusServer.QPS != 7 || *cfg.StatusServer.Burst != 9 {
		t.Errorf("statusServer = %+v, want port 11443, qps 7, burst 9", cfg.StatusServer)
	}
	if !cfg.FeatureGates["TrainJobStatus"] {
		t.Error("featureGates.TrainJobStatus = false, want true")
	}
}

func TestLoadRefusesWithTheReason(t *testing.T) {
	cases := map[string]struct{ content, want string }{
		"a field that does not exist":        {header + "statusServer: {prot: 1}\n", `unknown field "statusServer.prot"`},
		"another kind":                       {"apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Settings\n", "Settings"},
		"another version":                    {"apiVersion: config.trainer.kubeflow.org/v9\nkind: Configuration\n", "v9"},
		"text that is no YAML":               {"{", "decoding configuration"},
		"port 0 of the status server":        {header + "statusServer: {port: 0}\n", "statusServer.port: Invalid value: 0: must be between 1 and 65535"},
		"port 65536 of the webhook":          {header + "webhook: {port: 65536}\n", "webhook.port"},
		"a negative rate of status writes":   {header + "statusServer: {qps: -1}\n", "statusServer.qps"},
		"a negative burst of the client":     {header + "clientConnection: {burst: -1}\n", "clientConnection.burst"},
		"no worker at all for TrainJobs":     {header + "controller: {groupKindConcurrency: {TrainJob.trainer.kubeflow.org: 0}}\n", "TrainJob.trainer.kubeflow.org"},
		"a TLS version that does not exist":  {header + "tls: {minVersion: \"1.4\"}\n", "tls.minVersion"},
		"a cipher suite Go does not provide": {header + "tls: {cipherSuites: [TLS_NOPE]}\n", "tls.cipherSuites[0]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Load(write(t, tc.content))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Load() error = %v, want one that contains %q", err, tc.want)
			}
		})
	}
}

func TestLoadNamesTheMissingFile(t *testing.T) {
	if _, err := Load("no-such-file.yaml"); err == nil || !strings.Contains(err.Error(), "no-such-file.yaml") {
		t.Errorf("Load() error = %v, want one that names the file", err)
	}
}

func TestApplyTLS(t *testing.T) {
	load := func(section string) *tls.Config {
		t.Helper()
		cfg, err := Load(write(t, header+section))
		if err != nil {
			t.Fatalf("Load() error = %v", err)
		}
		got := &tls.Config{}
		ApplyTLS(got, cfg.TLS)
		return got
	}
	if got := load(""); got.MinVersion != tls.VersionTLS12 || !slices.Equal(got.NextProtos, []string{"http/1.1"}) {
		t.Errorf("defaults: minimum %#x, protocols %v, want TLS 1.2 and HTTP/1.1 alone", got.MinVersion, got.NextProtos)
	}
	got := load("tls: {minVersion: \"1.3\", nextProtos: [h2, http/1.1], cipherSuites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]}\n")
	if got.MinVersion != tls.VersionTLS13 || !slices.Equal(got.NextProtos, []string{"h2", "http/1.1"}) ||
		!slices.Equal(got.CipherSuites, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}) {
		t.Errorf("ApplyTLS() = %#x %v %v, want what the section says", got.MinVersion, got.NextProtos, got.CipherSuites)
	}
}
