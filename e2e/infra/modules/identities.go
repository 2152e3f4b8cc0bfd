// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"encoding/base64"
	"fmt"
	"os"
	"text/template"
	"time"
)

// Names of keys that are not named after a component.
const (
	authority      = "ca"
	frontProxy     = "front-proxy-ca"
	serviceAccount = "service-account"
	kubeletClient  = "kubelet-client"
	admin          = "admin"
)

// identities are all that hold a certificate of the cluster.
func (l layout) identities() map[string]identity {
	return map[string]identity{
		apiServer: {
			user: "kube-apiserver",
			names: []string{
				"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
				"kubernetes.default.svc." + clusterDomain,
			},
			ips: []string{"127.0.0.1", nodeAddress, serviceAddress},
		},
		kubelet: {
			user:   "system:node:" + l.name,
			groups: []string{"system:nodes"},
			names:  []string{l.name},
			ips:    []string{nodeAddress},
		},
		kubeletClient:     {user: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}},
		admin:             {user: "admin", groups: []string{"system:masters"}},
		controllerManager: {user: "system:kube-controller-manager"},
		scheduler:         {user: "system:kube-scheduler"},
		proxy:             {user: "system:kube-proxy"},
		dns:               {user: "milepost:cluster-dns"},
	}
}

// withKubeconfig are the identities that call the API server.
var withKubeconfig = []string{admin, controllerManager, scheduler, proxy, dns, kubelet}

var kubeconfigTemplate = template.Must(template.ParseFS(manifests, "manifests/kubeconfig.yaml"))

// writeIdentities makes a new authority and all that hang on it.
func (l layout) writeIdentities(now time.Time) error {
	ca, err := newAuthority(l.name, now)
	if err != nil {
		return err
	}
	if err := ca.write(l.certificate(authority), l.key(authority)); err != nil {
		return err
	}
	// Nothing holds a certificate of this one; without it the components keep
	// asking for the authority of aggregated API servers and log an error each time.
	front, err := newAuthority(frontProxy, now)
	if err != nil {
		return err
	}
	if err := front.write(l.certificate(frontProxy), l.key(frontProxy)); err != nil {
		return err
	}
	if err := writeTokenKey(l.key(serviceAccount)); err != nil {
		return err
	}
	pairs := map[string]pair{}
	for name, id := range l.identities() {
		issued, err := ca.issue(id, now)
		if err != nil {
			return err
		}
		if err := issued.write(l.certificate(name), l.key(name)); err != nil {
			return err
		}
		pairs[name] = issued
	}
	for _, name := range withKubeconfig {
		if err := l.writeKubeconfig(name, ca, pairs[name]); err != nil {
			return fmt.Errorf("writing the kubeconfig of %s: %w", name, err)
		}
	}
	return nil
}

func (l layout) writeKubeconfig(user string, ca, holder pair) error {
	key, err := holder.keyPEM()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(l.kubeconfig(user), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // closing again below reports the error
	err = kubeconfigTemplate.Execute(file, map[string]string{
		"Name":        l.name,
		"Server":      serverURL,
		"User":        user,
		"Authority":   base64.StdEncoding.EncodeToString(ca.certificatePEM()),
		"Certificate": base64.StdEncoding.EncodeToString(holder.certificatePEM()),
		"Key":         base64.StdEncoding.EncodeToString(key),
	})
	if err != nil {
		return err
	}
	return file.Close()
}
