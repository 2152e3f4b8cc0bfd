// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed manifests
var manifests embed.FS

// configuration fills the configuration files of the components.
type configuration struct {
	Name               string
	State              string
	Programs           string
	Snapshotter        string
	SandboxImage       string
	Authority          string
	KubeletCertificate string
	KubeletKey         string
	DNSKubeconfig      string
	ResolvConf         string
	NodeAddress        string
	DNSAddress         string
	ClusterDomain      string
	PodCIDR            string
}

func (l layout) configuration(programs, snapshotter, sandboxImage string) configuration {
	return configuration{
		Name:               l.name,
		State:              l.state,
		Programs:           programs,
		Snapshotter:        snapshotter,
		SandboxImage:       sandboxImage,
		Authority:          l.certificate(authority),
		KubeletCertificate: l.certificate(kubelet),
		KubeletKey:         l.key(kubelet),
		DNSKubeconfig:      l.kubeconfig(dns),
		ResolvConf:         l.config("resolv.conf"),
		NodeAddress:        nodeAddress,
		DNSAddress:         dnsAddress,
		ClusterDomain:      clusterDomain,
		PodCIDR:            podCIDR,
	}
}

// configurationFiles maps a file in the state folder's config folder to the
// embedded template it is made from.
var configurationFiles = map[string]string{
	"Corefile":            "Corefile",
	"kubelet.yaml":        "kubelet.yaml",
	"containerd.toml":     "containerd.toml",
	"cni/10-net.conflist": "cni.conflist",
	"rbac.yaml":           "rbac.yaml",
	"resolv.conf":         "resolv.conf",
}

func (l layout) writeConfiguration(values configuration) error {
	for target, source := range configurationFiles {
		content, err := render(source, values)
		if err != nil {
			return err
		}
		path := l.config(target)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("making a configuration folder: %w", err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", target, err)
		}
	}
	return nil
}

func render(source string, values configuration) ([]byte, error) {
	parsed, err := template.ParseFS(manifests, "manifests/"+source)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", source, err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, values); err != nil {
		return nil, fmt.Errorf("filling in %s: %w", source, err)
	}
	return out.Bytes(), nil
}
